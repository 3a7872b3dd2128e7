#!/bin/sh
# Installs what `make` has built, or takes it away again; called by `make install` and `make uninstall`.
#
#     install.sh install|uninstall
#
# From the environment: PREFIX, and LIBDIR and INCLUDEDIR if they are not PREFIX/lib and PREFIX/include; DESTDIR, put
# before them when files are written, but not written into files; BUILT, the directory of the built library.
set -eu
cd "$(dirname "$0")/.."

fail() {
  echo "$0: $*" >&2
  exit 1
}

PREFIX=${PREFIX%/}
LIBDIR=${LIBDIR:-$PREFIX/lib}
INCLUDEDIR=${INCLUDEDIR:-$PREFIX/include}
LIBDIR=${LIBDIR%/}
INCLUDEDIR=${INCLUDEDIR%/}
for dir in "$PREFIX/" "$LIBDIR/" "$INCLUDEDIR/"; do
  case $dir in
  *[\|\&\\\;]*) fail "$dir has one of | & \\ ;" ;;
  */../* | */./*) fail "$dir goes by . or .." ;;
  /*) ;;
  *) fail "$dir is not an absolute path" ;;
  esac
done

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
soname=$(sed -n 's/^const SONAME_VERSION: u32 = \([0-9]*\);$/\1/p' build.rs)
case $(uname -s) in
Darwin) shared=libplimsoll.$version.dylib soname=libplimsoll.$soname.dylib link=libplimsoll.dylib ;;
*) shared=libplimsoll.so.$version soname=libplimsoll.so.$soname link=libplimsoll.so ;;
esac

include=${DESTDIR:-}$INCLUDEDIR
lib=${DESTDIR:-}$LIBDIR
pkgconfig=$lib/pkgconfig
cmake=$lib/cmake/plimsoll

# A template with its names filled in.
fill() {
  sed -e "s|@PREFIX@|$pc_prefix|" -e "s|@LIBDIR@|$pc_libdir|" -e "s|@INCLUDEDIR@|$pc_includedir|" \
    -e "s|@INCLUDE_FROM_LIB@|$include_from_lib|" -e "s|@NATIVE@|$native|" \
    -e "s|@NATIVE_LIST@|$(echo "$native" | tr ' ' ';')|" -e "s|@SHARED_FILE@|$shared|" -e "s|@SONAME@|$soname|" \
    -e "s|@VERSION@|$version|" -e "s|@MAJOR@|$major|" -e "s|@MINOR@|$minor|" "packaging/$1.in" > "$2/$1"
  chmod 644 "$2/$1"
}

case $1 in
install)
  major=${version%%.*}
  minor=${version#*.}
  minor=${minor%%.*}

  # Compilers link libgcc_s by themselves where it is needed; named here, it would make `cc -static` fail.
  native=$(tr ' ' '\n' < "$BUILT/native-static-libs" | grep -vx -e -lgcc_s -e '' | tr '\n' ' ')
  native=${native% }

  # What lies under PREFIX is found from where plimsoll.pc and plimsollConfig.cmake lie.
  pc_prefix=$PREFIX pc_libdir=$LIBDIR pc_includedir=$INCLUDEDIR include_from_lib=$INCLUDEDIR
  case $LIBDIR in
  "$PREFIX"/*)
    up=$(echo "${LIBDIR#"$PREFIX"/}" | sed 's|[^/][^/]*|..|g')
    pc_prefix=\${pcfiledir}/../$up
    pc_libdir=\${prefix}/${LIBDIR#"$PREFIX"/}
    case $INCLUDEDIR in
    "$PREFIX"/*)
      pc_includedir=\${prefix}/${INCLUDEDIR#"$PREFIX"/}
      include_from_lib=$up/${INCLUDEDIR#"$PREFIX"/}
      ;;
    esac
    ;;
  esac

  install -d -m 755 "$include" "$lib" "$pkgconfig" "$cmake"
  install -m 644 include/plimsoll.h bindings/cpp/plimsoll.hpp "$include"
  install -m 755 "$BUILT/$link" "$lib/$shared"
  ln -sf "$shared" "$lib/$soname"
  ln -sf "$soname" "$lib/$link"
  install -m 644 "$BUILT/libplimsoll.a" "$lib"
  fill plimsoll.pc "$pkgconfig"
  fill plimsollConfig.cmake "$cmake"
  fill plimsollConfigVersion.cmake "$cmake"
  echo "installed plimsoll $version in $lib and $include"
  ;;

uninstall)
  rm -f "$include/plimsoll.h" "$include/plimsoll.hpp" "$lib/$shared" "$lib/$soname" "$lib/$link" \
    "$lib/libplimsoll.a" "$pkgconfig/plimsoll.pc" "$cmake/plimsollConfig.cmake" "$cmake/plimsollConfigVersion.cmake"

  # Directories that this leaves empty go too, but those of /usr and /usr/local are the system's.
  empty() { rmdir "$@" 2> /dev/null || :; }
  empty "$cmake"
  case $PREFIX in
  '' | /usr | /usr/local) ;;
  *)
    empty "$lib/cmake"
    empty "$pkgconfig"
    for dir in "$lib" "$include"; do
      while [ "${dir#"${DESTDIR:-}$PREFIX"/}" != "$dir" ] && rmdir "$dir" 2> /dev/null; do dir=${dir%/*}; done
    done
    ;;
  esac
  echo "uninstalled plimsoll from $lib and $include"
  ;;

*) fail "install or uninstall?" ;;
esac

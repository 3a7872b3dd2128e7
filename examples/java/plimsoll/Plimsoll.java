package plimsoll;

import com.sun.jna.Callback;
import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import com.sun.jna.ptr.PointerByReference;
import java.lang.ref.Reference;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * Calls libplimsoll through JNA: the functions that Mixture uses, exceptions for errors, owners for handles, a
 * callback. Copy this file into your program and add the functions of plimsoll.h that you need.
 */
public final class Plimsoll {
    public static final int PLIM_SPLIT_TEST = 2;
    public static final int PLIM_ERROR_CANCELLED = 10;

    /** The C functions: size_t and uint64_t are long, plim_status is int, arrays are arrays, utf8() makes strings. */
    public interface Functions extends Library {
        String plim_version();
        String plim_last_error();
        String plim_status_name(int status);

        int plim_graph_from_mixture(long nodes_per_class, long seed, PointerByReference out);
        int plim_graph_from_edges(long num_nodes, long num_edges, int[] sources, int[] targets, float[] weights,
            PointerByReference out);
        long plim_graph_num_nodes(Graph graph);
        long plim_graph_num_edges(Graph graph);
        long plim_graph_num_features(Graph graph);
        long plim_graph_num_classes(Graph graph);
        void plim_graph_free(Handle graph);

        int plim_model_gcn(long[] widths, long num_widths, long seed, PointerByReference out);
        int plim_model_load(byte[] path, PointerByReference out);
        int plim_model_save(Model model, byte[] path);
        int plim_model_predict(Model model, Graph graph, int[] nodes, long num_nodes, float[] probabilities,
            long capacity);
        int plim_model_evaluate(Model model, Graph graph, int split, double[] loss, double[] accuracy);
        void plim_model_free(Handle model);

        int plim_estimator_consistent(long[] sample_sizes, long num_layers, PointerByReference out);
        void plim_estimator_free(Handle estimator);
        int plim_optimizer_adam(double step, PointerByReference out);
        void plim_optimizer_free(Handle optimizer);

        int plim_train_options_new(PointerByReference out);
        int plim_train_options_set_epochs(TrainOptions options, long epochs);
        int plim_train_options_set_progress(TrainOptions options, ProgressFn fn, Pointer user_data);
        void plim_train_options_free(Handle options);
        int plim_train(Model model, Graph graph, Estimator estimator, Optimizer optimizer, TrainOptions options,
            PointerByReference out);
        long plim_history_best_epoch(History history);
        void plim_history_free(Handle history);
    }

    /** The library that PLIMSOLL_LIB names, or else the installed one. Its strings are UTF-8. */
    public static final Functions C = Native.load(System.getenv().getOrDefault("PLIMSOLL_LIB", "plimsoll"),
        Functions.class, Map.of(Library.OPTION_STRING_ENCODING, "UTF-8"));

    /** Returns a string for C. JNA would encode a String argument in the machine's locale. */
    public static byte[] utf8(String text) {
        return Native.toByteArray(text, "UTF-8");
    }

    /** The progress of training. NaN means not evaluated. */
    @Structure.FieldOrder({"struct_size", "epoch", "num_epochs", "step", "num_steps", "train_loss", "val_loss",
        "val_accuracy", "seconds", "val_ndcg"})
    public static final class Progress extends Structure {
        public long struct_size, epoch, num_epochs, step, num_steps;
        public double train_loss, val_loss, val_accuracy, seconds, val_ndcg;

        Progress(Pointer progress) {
            super(progress);
            read();
        }
    }

    /** Takes a Pointer, because JNA would write a Progress back to C, where the struct is const. */
    public interface ProgressFn extends Callback {
        int invoke(Pointer user_data, Pointer progress);
    }

    /** A failed C call. The message gives the reason, and status is the PLIM_ERROR_ number. */
    public static final class PlimsollException extends RuntimeException {
        private static final long serialVersionUID = 1;
        public final int status;

        PlimsollException(int status) {
            super(C.plim_status_name(status) + ": " + C.plim_last_error());
            this.status = status;
        }
    }

    /** Throws if a call returned anything but PLIM_OK. */
    public static void check(int status) {
        if (status != 0) throw new PlimsollException(status);
    }

    /** A call that writes a new handle to {@code out} and returns a status. */
    public interface Maker {
        int call(PointerByReference out);
    }

    /** Owns a handle, which is a number for C and not an address. close() frees it. */
    public abstract static class Handle extends Pointer implements AutoCloseable {
        private final Consumer<Handle> free;

        Handle(Maker make, Consumer<Handle> free) {
            super(0);
            this.free = free;
            PointerByReference out = new PointerByReference();
            int status = make.call(out);
            peer = Pointer.nativeValue(out.getValue());
            if (status != 0) {
                PlimsollException failed = new PlimsollException(status);
                close(); // cancelled training also returns a history
                throw failed;
            }
        }

        @Override public void close() {
            free.accept(this);
            peer = 0; // NULL: a second close() does nothing
        }
    }

    public static final class Graph extends Handle {
        public Graph(Maker make) { super(make, C::plim_graph_free); }
    }
    public static final class Model extends Handle {
        public Model(Maker make) { super(make, C::plim_model_free); }
    }
    public static final class Estimator extends Handle {
        public Estimator(Maker make) { super(make, C::plim_estimator_free); }
    }
    public static final class Optimizer extends Handle {
        public Optimizer(Maker make) { super(make, C::plim_optimizer_free); }
    }
    public static final class TrainOptions extends Handle {
        public TrainOptions(Maker make) { super(make, C::plim_train_options_free); }
    }
    public static final class History extends Handle {
        public History(Maker make) { super(make, C::plim_history_free); }
    }

    /**
     * Trains and returns the history. {@code tell} receives the progress. It cancels by returning true or by throwing;
     * train() throws its exception again.
     */
    public static History train(Model model, Graph graph, Estimator estimator, Optimizer optimizer,
            TrainOptions options, Predicate<Progress> tell) {
        Throwable[] thrown = {null};
        // An exception must not cross C: it is stored here until C returns.
        ProgressFn callback = (userData, progress) -> {
            try {
                return tell.test(new Progress(progress)) ? 1 : 0;
            } catch (Throwable error) {
                thrown[0] = error;
                return 1;
            }
        };
        try {
            check(C.plim_train_options_set_progress(options, callback, null));
            return new History(out -> C.plim_train(model, graph, estimator, optimizer, options, out));
        } catch (PlimsollException failed) {
            if (thrown[0] instanceof RuntimeException) throw (RuntimeException) thrown[0];
            if (thrown[0] instanceof Error) throw (Error) thrown[0];
            throw failed;
        } finally {
            C.plim_train_options_set_progress(options, null, null);
            Reference.reachabilityFence(callback); // JNA alone would not keep it from the collector
        }
    }

    private Plimsoll() {}
}

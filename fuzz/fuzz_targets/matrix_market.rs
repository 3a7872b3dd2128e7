#![no_main]

plimsoll_fuzz::fuzz!("matrix_market");

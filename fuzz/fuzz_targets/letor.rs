#![no_main]

plimsoll_fuzz::fuzz!("letor");

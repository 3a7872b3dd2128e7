#![no_main]

plimsoll_fuzz::fuzz!("edge_list");

mod bench;
mod drawing;
mod following;

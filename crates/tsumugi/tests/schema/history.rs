//! A history in a file of its own, whose modules are in the folder of its name.

tsumugi::migrations!["history"; m1_create_pets];

//! Lets the module ask for no function of glibc that is newer than 2.28.

fn main() -> std::io::Result<()> {
    tpu_glibc::bind(tpu_glibc::Linked::Library)
}

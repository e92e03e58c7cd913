//! The `canter` program: all of it is in [`canter::cli`].

fn main() -> std::process::ExitCode {
    canter::cli::main()
}

//! `gasnet-sci`: what this installation is and what this host allows.

use clap::{CommandFactory, Parser, Subcommand};
use gasnet_sci::config::{VARS, table};
use gasnet_sci::{job, region, wait};
use std::io::{self, Write};

#[path = "shared/man.rs"]
mod man;

/// Information about gasnet-sci, a GASNet-1 conduit over software SCI.
#[derive(Parser)]
#[command(name = "gasnet-sci", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Version, limits, thresholds, environment variables, and what this host allows
    Info,
    /// This command's man page, for ci/install
    #[command(hide = true)]
    Man,
    /// The environment variables as a table in Markdown, for ci/docs
    #[command(hide = true)]
    EnvTable,
}

fn main() {
    match Cli::parse().command {
        Command::Info => info(),
        Command::Man => write_man(),
        Command::EnvTable => print!("{}", table::markdown()),
    }
}

fn write_man() {
    let page = man::page(Cli::command(), |_| true, "gasnetrun_sci").and_then(|page| io::stdout().write_all(&page));
    if let Err(error) = page {
        eprintln!("gasnet-sci: cannot write the man page: {error}");
        std::process::exit(1);
    }
}

fn info() {
    println!("gasnet-sci {}", env!("CARGO_PKG_VERSION"));
    println!("\nLimits");
    println!("  AM arguments              {}", region::MAX_ARGS);
    println!("  AM Medium, bytes          {}", region::MAX_MEDIUM);
    println!("  AM Long, bytes            {}", region::MAX_LONG);
    println!("\nRegions, per ordered pair of nodes");
    let layout = region::Layout::new(2, gasnet_sci::config::Config::default().slots);
    println!("  slots, request and reply  {} of {} bytes each", layout.slots(), region::SLOT);
    println!("  request and reply ring    {} bytes each", region::RING);
    println!("  queue                     {} bytes, of which only what is used takes memory", layout.queue_len());
    println!("\nThis host");
    println!("  cores of this process     {}", wait::cores());
    println!("  memory, bytes             {}", job::limits::memory());
    println!("  largest segment of 1 node {}", job::limits::max_segment(None, 1));
    println!("\nEnvironment");
    for var in VARS {
        println!(
            "  {} (default: {})\n      {}",
            var.name,
            if var.default.is_empty() { "none" } else { var.default },
            var.doc
        );
        for alias in var.aliases {
            println!("      also: {alias}");
        }
    }
}

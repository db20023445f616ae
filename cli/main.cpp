// The command line of tilescan. Every subcommand has a file of its own.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/error.h"
#include "cli/safetensors_header.h"
#include "tilescan/tilescan.h"

namespace tilescan::cli {
namespace {

int Fail(const std::string& message) {
  std::fprintf(stderr, "tilescan: %s\n", message.c_str());
  return kExitError;
}

// What CLI11 prints for wrong usage. app is the command that failed, or the tool.
std::string FailureText(const CLI::App* app, const CLI::Error& error) {
  std::string reason = error.what();
  if (app->get_parent() == nullptr && app->get_subcommands().empty() &&
      error.get_name() == "RequiredError") {
    const std::vector<std::string> unknown = app->remaining();
    reason =
        unknown.empty() ? "a command is needed" : Concat("no command ", Quote(unknown.front()));
  }
  return Concat("tilescan: ", reason, "\ntilescan: see --help\n");
}

int Main(int argc, char** argv) {
  CLI::App app("tilescan: the Mamba-2 recurrence (state-space duality).", "tilescan");
  app.set_version_flag("--version", std::string("tilescan ") + tilescan_version());
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done; 1 a check failed (verify, run --check); 2 bad usage or bad input.\n"
      "'tilescan COMMAND --help' has examples.");
  app.failure_message(FailureText);
  const std::vector<Command> commands = {AddInfoCommand(&app), AddPlanCommand(&app),
                                         AddRunCommand(&app), AddVerifyCommand(&app),
                                         AddBenchCommand(&app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // --help and --version arrive here too, as errors of code 0.
    return app.exit(error) == 0 ? kExitOk : kExitError;
  }
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    const int exit_code = command.run();
    return std::cout.flush() ? exit_code : Fail("cannot write to stdout");
  }
  return kExitError;
}

}  // namespace
}  // namespace tilescan::cli

int main(int argc, char** argv) {
  using tilescan::cli::Fail;
  try {
    return tilescan::cli::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    return Fail("out of memory");
  } catch (const std::exception& error) {
    return Fail(error.what());
  }
}

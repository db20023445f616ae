// The subcommands, one file each.
#ifndef TILESCAN_CLI_COMMANDS_H_
#define TILESCAN_CLI_COMMANDS_H_

#include <functional>

namespace CLI {
class App;
}

namespace tilescan::cli {

struct Command {
  CLI::App* app;
  // To be called once the command line is parsed and has this subcommand. Returns an exit code;
  // throws Error.
  std::function<int()> run;
};

Command AddInfoCommand(CLI::App* parent);
Command AddPlanCommand(CLI::App* parent);
Command AddRunCommand(CLI::App* parent);
Command AddVerifyCommand(CLI::App* parent);
Command AddBenchCommand(CLI::App* parent);

}  // namespace tilescan::cli

#endif  // TILESCAN_CLI_COMMANDS_H_

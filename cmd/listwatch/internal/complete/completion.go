package complete

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
)

// kubectlShim is what kubectl runs for "kubectl listwatch <TAB>".
const kubectlShim = `#!/bin/sh
# Completion of "kubectl listwatch", for kubectl 1.26 or newer. Install it as
# kubectl_complete-listwatch, executable, in a folder of the PATH.
exec kubectl-listwatch __complete "$@"
`

const completionLong = `Print the completion script of a shell. Types, names of objects, namespaces,
contexts and the paths of expressions are completed as the cluster has them; where
it does not answer within two seconds, nothing is completed.

bash 4.1 or newer, in ~/.bashrc, with the package bash-completion:
  source <(listwatch completion bash)
zsh, in a folder of $fpath:
  listwatch completion zsh > "${fpath[1]}/_listwatch"
fish:
  listwatch completion fish > ~/.config/fish/completions/listwatch.fish
PowerShell, in $PROFILE:
  listwatch completion powershell | Out-String | Invoke-Expression

"kubectl" prints a shim for "kubectl listwatch", which kubectl finds by its name:
  listwatch completion kubectl > ~/.local/bin/kubectl_complete-listwatch
  chmod +x ~/.local/bin/kubectl_complete-listwatch
"make install" installs it; "kubectl krew install" cannot.`

func Command(p *cli.Program) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell", "kubectl"}
	return &cobra.Command{
		Use:                   "completion bash|zsh|fish|powershell|kubectl",
		Short:                 "Print the completion script of a shell, or of kubectl",
		Long:                  completionLong,
		DisableFlagsInUseLine: true,
		ValidArgs:             shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usage("say which shell: one of %s", strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			var text strings.Builder
			switch args[0] {
			case "bash", "zsh", "fish", "powershell":
				err = script(cmd.Root(), args[0], &text)
			case "kubectl":
				text.WriteString(kubectlShim)
			default:
				return exit.Usage("unknown shell %q: want one of %s", printable.Clip(args[0]), strings.Join(shells, ", "))
			}
			if err != nil {
				return exit.Failed(err)
			}
			return p.Put(text.String())
		},
	}
}

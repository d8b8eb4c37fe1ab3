package operator

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/internal/exit"
)

// Command returns the command init.
func Command(p *cli.Program) *cobra.Command {
	parent := &cobra.Command{
		Use:   "init",
		Short: "Write the first files of a program",
		Args:  cli.NoArgs("; listwatch init operator writes an operator"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var o Options
	cmd := &cobra.Command{
		Use:   "operator --group GROUP --kind KIND",
		Short: "Write an operator: type, controller, tests, manifests",
		Long: `Write an operator with a custom resource and a controller that keeps a ConfigMap
for each object: Go files with tests on a fake API server, manifests, a Makefile
and a Dockerfile. Nothing is generated from them afterwards. No file is
overwritten. The names of the files are printed.

The module github.com/listwatch/listwatch is not published: name your copy by "go
mod edit -replace github.com/listwatch/listwatch=PATH", then "go mod tidy".`,
		Example: "  listwatch init operator --group example.com --kind Greeting --dir greeting",
		Args:    cli.NoArgs(""),
		RunE: func(*cobra.Command, []string) error {
			o.Dir = cmp.Or(o.Dir, strings.ToLower(o.Kind))
			if err := o.Check(); err != nil {
				return exit.Usage("%w", err)
			}
			files, err := Write(o)
			if err != nil {
				return exit.Failed(err)
			}
			return p.Put(strings.Join(files, "\n") + "\n")
		},
	}
	cmd.Flags().StringVar(&o.Group, "group", "", "use this API group for the custom resource, such as example.com")
	cmd.Flags().StringVar(&o.Kind, "kind", "", "use this kind for the custom resource, such as Greeting")
	cmd.Flags().BoolVar(&o.Webhook, "webhook", false, "write a validating webhook too")
	cmd.Flags().StringVar(&o.Dir, "dir", "", "write into this new or empty folder (default the kind in lower case)")
	parent.AddCommand(cmd)
	return parent
}

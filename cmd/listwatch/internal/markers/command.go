package markers

import (
	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/internal/exit"
)

// Command returns the command crd.
func Command(p *cli.Program) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "crd --from-markers DIR",
		Short: "Print CustomResourceDefinitions from Go types",
		Long: `Print the CustomResourceDefinitions of Go types with kubebuilder's markers, as
YAML for kubectl apply. Every package in the folder and below is read. Types of
other packages are read from their source, which the go command finds: go list is
run, and neither git nor another program. Nothing is downloaded: go mod download
does that before.`,
		Example: "  listwatch crd --from-markers ./api | kubectl apply --server-side -f -",
		Args:    cli.NoArgs(""),
		RunE: func(*cobra.Command, []string) error {
			if dir == "" {
				return exit.Usage("name the folder of the types: listwatch crd --from-markers DIR")
			}
			defs, err := Read(dir)
			if err != nil {
				return exit.Failed(err)
			}
			for i, d := range defs {
				text, err := d.YAML()
				if err != nil {
					return exit.Failed(err)
				}
				if i > 0 {
					text = append([]byte("---\n"), text...)
				}
				if err := p.Put(string(text)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "from-markers", "", "read the Go types in this folder and below")
	return cmd
}

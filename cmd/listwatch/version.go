package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
)

func versionCommand(p *cli.Program) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cli.NoArgs(""),
		RunE: func(*cobra.Command, []string) error {
			b := cli.ThisBuild()
			switch output {
			case "":
				return p.Put(fmt.Sprintf("listwatch %s (%s, %s)\n", b.Version, b.Go, b.Platform))
			case "json":
				line, err := codec.Encode(b)
				if err != nil {
					return exit.Failed(err)
				}
				return p.Put(string(line) + "\n")
			}
			return exit.Usage("--output %q: want json", printable.Clip(output))
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "print json, or nothing for a line of text")
	return cmd
}

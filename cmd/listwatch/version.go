package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/codec"
)

func versionCommand(p *program) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs(""),
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			switch output {
			case "":
				return p.put(fmt.Sprintf("listwatch %s (%s, %s)\n", b.Version, b.Go, b.Platform))
			case "json":
				line, err := codec.Encode(b)
				if err != nil {
					return failed(err)
				}
				return p.put(string(line) + "\n")
			}
			return usage("--output %q: want json", clip(output))
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "json, or nothing for a line of text")
	return cmd
}

package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/codec"
)

type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// thisBuild reads what the linker has left in the program.
func thisBuild() build {
	b := build{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

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

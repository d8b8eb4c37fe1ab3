package main

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/printable"
)

// printing are the flags that say what is printed.
type printing struct {
	format      string
	template    string
	noHeaders   bool
	eventColumn bool
	color       string
	redact      string
	managed     bool
	quiet       bool
	logFormat   string
}

func (o *printing) register(f *pflag.FlagSet) {
	f.StringVarP(&o.format, "output", "o", "", "print as "+strings.Join(print.FormatNames(), ", ")+"; default the server's columns")
	f.StringVar(&o.template, "template", "", "use this expression for -o jsonpath, go-template and similar formats, if -o has none")
	f.BoolVar(&o.noHeaders, "no-headers", false, "print no headers above columns")
	f.StringVar(&o.color, "color", "auto", "color the output: auto, always or never")
	f.StringVar(&o.redact, "redact", "secrets", "redact in output, checkpoints and hooks: secrets (the values of Secrets), env (those and the values of environment variables) or none")
	f.BoolVar(&o.managed, "show-managed-fields", false, "keep metadata.managedFields; jsonpath, go-template and custom-columns always see them")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing on stderr but why the program ended")
	f.StringVar(&o.logFormat, "log-format", "text", "write messages to stderr as text or json")
}

// parse checks the flags and returns what they mean.
func (o *printing) parse(p *cli.Program) (output, error) {
	custom, err := print.ParseFormat(o.format, o.template)
	if err != nil {
		return output{}, err
	}
	for _, f := range []struct {
		name, value string
		want        []string
	}{
		{"color", o.color, []string{"auto", "always", "never"}},
		{"redact", o.redact, []string{"secrets", "env", "none"}},
		{"log-format", o.logFormat, []string{"text", "json"}},
	} {
		if !slices.Contains(f.want, f.value) {
			return output{}, exit.Usage("--%s %q: want one of %s", f.name, printable.Clip(f.value), strings.TrimPrefix(strings.Join(f.want, ", "), ", "))
		}
	}
	return output{
		format: print.Format{
			Name:     o.format,
			Custom:   custom,
			Events:   o.eventColumn,
			Headers:  !o.noHeaders,
			Redact:   o.redact != "none",
			Color:    p.Colored(o.color),
			Terminal: cli.IsTerminal(p.Stdout),
		},
		managed:        o.managed,
		expressManaged: print.LikeKubectl(o.format),
		env:            o.redact == "env",
	}, nil
}

package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
)

// wanted says what a flag of a type takes, for a value that is none.
var wanted = map[string]string{
	"int": "a whole number", "int64": "a whole number", "uint64": "a whole number from 0", "float64": "a number such as 0.5",
	"bool": "true or false", "duration": "a duration such as 30s or 5m",
}

// WrongFlag says what is wrong with a flag, without the words of the parsers below.
func WrongFlag(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var missing *pflag.NotExistError
	switch {
	case errors.As(err, &missing) && cmd.Name() == "list" && (missing.GetSpecifiedName() == "w" || strings.HasPrefix(missing.GetSpecifiedName(), "watch")):
		return exit.Usage(`list ends after the list; "listwatch watch" follows what happens then`)
	case !errors.As(err, &value):
		return err
	}
	f, what := value.GetFlag(), value.Unwrap().Error()
	if want, ok := wanted[f.Value.Type()]; ok {
		what = "want " + want
	}
	return exit.Usage("--%s %q: %s", f.Name, printable.Clip(value.GetValue()), what)
}

// NoArgs is for commands that take none; instead says what may have been meant.
func NoArgs(instead string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return exit.Usage("%q: %s takes no arguments%s", printable.Clip(args[0]), strings.TrimPrefix(cmd.CommandPath(), "listwatch "), instead)
	}
}

// Positive refuses durations and numbers below zero.
func Positive(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if v := cmd.Flags().Lookup(name).Value.String(); strings.HasPrefix(v, "-") {
			return fmt.Errorf("--%s %s is negative", name, v)
		}
	}
	return nil
}

package complete

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/internal/print"
)

// completeFormats completes what -o takes. Of those with an expression, the shell
// continues right after the =.
func completeFormats(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	var found []string
	for _, name := range print.FormatNames() {
		if strings.HasPrefix(name, prefix) && !(name == "diff" && cmd.Flags().Lookup("diff") == nil) {
			found = append(found, name)
		}
		if file := strings.TrimSuffix(name, "=") + "-file="; strings.HasSuffix(name, "=") && name != "jsonpath-as-json=" && strings.HasPrefix(file, prefix) {
			found = append(found, file)
		}
	}
	if !slices.ContainsFunc(found, func(s string) bool { return !strings.HasSuffix(s, "=") }) {
		return found, noFiles | cobra.ShellCompDirectiveNoSpace
	}
	return found, noFiles
}

// completeListed completes the last of several values by commas.
func completeListed(values []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		before := prefix[:strings.LastIndexByte(prefix, ',')+1]
		var found []string
		for _, v := range values {
			if !slices.Contains(strings.Split(before, ","), v) {
				found = append(found, before+v)
			}
		}
		return found, noFiles
	}
}

package help

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/connect"
)

// flagGroup is a heading of a help text, and the flags below it. Flags that are in no group
// stand below "Flags".
type flagGroup struct {
	title string
	flags []string
}

var flagGroups = []flagGroup{
	{"Select", []string{"all-namespaces", "namespace", "context", "selector", "field-selector", "filename", "recursive", "kustomize", "for", "types", "raw", "subresource", "chunk-size", "initial-list", "watch-only",
		"since-rv", "at", "history", "recording", "skip-initial", "events", "where", "on-change", "on-visible-change", "changed-only", "ignore-fields", "exclude-namespace", "debounce"}},
	{"Output", []string{"output", "template", "live", "no-headers", "event-column", "output-watch-events", "show-old", "diff", "diff-against", "context-lines", "show-labels",
		"label-columns", "show-kind", "narrow", "timestamps", "server-print", "sort-by", "color", "redact", "show-managed-fields", "quiet", "log-format"}},
	{"Stop", []string{"once", "exit-after", "timeout", "max-events", "until", "until-any", "fail-on", "ignore-not-found"}},
	{"Hooks", []string{"exec", "webhook", "webhook-allow-http", "exec-delete", "exec-input", "exec-on", "exec-initial", "exec-concurrency", "exec-coalesce", "exec-batch", "exec-timeout", "exec-retries",
		"exec-backoff", "exec-rate", "exec-max-errors", "exec-dry-run", "exec-grace"}},
	{"Checkpoint", []string{"checkpoint", "checkpoint-policy", "ack", "reset-checkpoint"}},
	{"Operate", []string{"listen", "accept-host", "max-staleness", "idle-timeout", "watch-timeout", "max-failures", "memory", "watch"}},
}

// Grouped are the commands whose flags stand in groups.
var Grouped = map[string]bool{"watch": true, "list": true}

// Connecting are the flags that most commands share: "listwatch options" explains them.
func Connecting() *pflag.FlagSet {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.SortFlags = false
	(&connect.Flags{}).Register(f)
	return f
}

// FlagSets returns the flags of cmd by heading, in order, without those that "listwatch
// options" explains; shared reports whether there are some.
func FlagSets(cmd *cobra.Command) (titles []string, sets map[string]*pflag.FlagSet, shared bool) {
	sets = map[string]*pflag.FlagSet{}
	common := Connecting()
	within := map[string]string{}
	if Grouped[cmd.Name()] {
		for _, g := range flagGroups {
			for _, name := range g.flags {
				within[name] = g.title
			}
		}
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		// A fake server's --token is another one than that of the connection.
		if c := common.Lookup(f.Name); c != nil && c.Usage == f.Usage && f.Name != "namespace" && f.Name != "context" && cmd.Name() != "options" {
			shared = true
			return
		}
		title := within[f.Name]
		if title == "" {
			title = "Flags"
		}
		if sets[title] == nil {
			sets[title] = pflag.NewFlagSet("", pflag.ContinueOnError)
			sets[title].SortFlags = false
		}
		sets[title].AddFlag(f)
	})
	for _, g := range append(flagGroups, flagGroup{title: "Flags"}) {
		if sets[g.title] != nil && sets[g.title].HasAvailableFlags() {
			titles = append(titles, g.title)
		}
	}
	return titles, sets, shared
}

// OptionsCommand is options.
func OptionsCommand(*cli.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "options",
		Short:                 "Explain the flags that most commands share",
		Long:                  "Explain the flags that say which cluster to connect to, as whom, and how. All\ncommands that connect take them.",
		DisableFlagsInUseLine: true,
		Args:                  cli.NoArgs(""),
		RunE:                  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(Connecting())
	return cmd
}

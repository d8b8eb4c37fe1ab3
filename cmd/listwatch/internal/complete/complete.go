package complete

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/connect"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/config"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/shell"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
)

// Completion must be quick or give up: a person waits at the prompt.
const (
	completeTime = 2 * time.Second
	completeMost = 500 // names, which are one page
)

const noFiles = cobra.ShellCompDirectiveNoFileComp

// Objects sets what the shell completes: types, then names, as the server has
// them now, and the values of flags. What cannot be found out is not completed,
// and nothing is said about it; neither are names that a shell would interpret, since
// bash inserts completions into the command line as they are.
func Objects(p *cli.Program, cmd *cobra.Command, conn *connect.Flags) {
	silent := *p
	silent.Stderr = io.Discard
	c := &completer{p: &silent, conn: conn}
	cmd.ValidArgsFunction = c.arguments
	conditions, paths := expressions{c, conditions}.complete, expressions{completer: c}.complete
	Values(cmd, map[string]cobra.CompletionFunc{
		"namespace": c.namespaces, "context": c.contexts, "cluster": c.clusters, "user": c.users,
		"exclude-namespace": c.namespaces, "for": c.about, "label-columns": c.labels, "selector": c.labels,
		"until": conditions, "until-any": conditions, "fail-on": conditions, "where": paths, "on-change": paths, "sort-by": paths,
	})
}

// conditions are the beginnings of what --until takes that a shell does not interpret.
var conditions = []string{"condition=", "jsonpath=", "create", "delete", "rollout"}

// Values sets what the shell completes behind flags: words that are known, and
// what flags say.
func Values(cmd *cobra.Command, flags map[string]cobra.CompletionFunc) {
	all := map[string]cobra.CompletionFunc{"events": completeListed(record.Types), "exec-on": completeListed(record.Types)}
	for _, flag := range []string{"until", "until-any", "fail-on"} {
		all[flag] = cobra.FixedCompletions(conditions, noFiles|cobra.ShellCompDirectiveNoSpace)
	}
	maps.Copy(all, flags)
	fixed := map[string][]string{
		"color": {"auto", "always", "never"}, "redact": {"secrets", "env", "none"}, "log-format": {"text", "json"},
		"initial-list": {"auto", "paged", "stream"}, "event-column": {"true", "false"},
		"exec-input": {"stdin", "file", "args", "none"}, "exec-coalesce": {"latest", "none"},
		"diff": print.DiffStyles, "diff-against": {"previous", "first"}, "timestamps": print.StampStyles, "server-print": {"true", "false"},
		"serve": {"state", "script"}, "subresource": {"status", "scale"}, "checkpoint-policy": {"after-print", "after-hook"}, "types": {"Normal", "Warning"},
	}
	switch cmd.Name() {
	case "check":
		fixed["output"] = []string{"json"}
	case "test", "scenarios":
		fixed["output"] = []string{"text", "json"}
	default:
		all["output"] = completeFormats
	}
	for flag, values := range fixed {
		all[flag] = cobra.FixedCompletions(values, noFiles)
	}
	for flag, f := range all {
		if cmd.Flags().Lookup(flag) != nil {
			cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag, f)) // fails for unknown flags only
		}
	}
}

// completer knows what the flags before the cursor say about the cluster.
type completer struct {
	p    *cli.Program
	conn *connect.Flags
}

// arguments returns what may follow args.
func (c *completer) arguments(cmd *cobra.Command, args []string, prefix string) (found []string, directive cobra.ShellCompDirective) {
	directive = noFiles
	c.ask(cmd, func(ctx context.Context, cl *client.Client, api *discovery.API, namespace string) {
		typed, _, slash := strings.Cut(prefix, "/")
		switch {
		case len(args) > 0 && !strings.Contains(args[0], "/"):
			found = unnamed(names(ctx, api, cl, namespace, args[0], ""), args[1:])
		case slash:
			found = unnamed(names(ctx, api, cl, namespace, typed, typed+"/"), args)
		case len(args) > 0: // where one is TYPE/NAME, all are
			found, directive = types(api, "", "/"), noFiles|cobra.ShellCompDirectiveNoSpace
		default:
			found = types(api, prefix[:strings.LastIndexByte(prefix, ',')+1], "")
		}
	})
	return found, directive
}

// about completes TYPE/NAME.
func (c *completer) about(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if strings.Contains(prefix, "/") {
		return c.arguments(cmd, nil, prefix)
	}
	return c.arguments(cmd, []string{"/"}, prefix) // as behind a TYPE/NAME
}

// ask calls f with what the flags before the cursor choose, if the server answers. An
// empty namespace means all.
func (c *completer) ask(cmd *cobra.Command, f func(ctx context.Context, cl *client.Client, api *discovery.API, namespace string)) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTime)
	defer cancel()
	cl, cfg := c.dial()
	if cl == nil {
		return
	}
	defer cl.CloseIdleConnections()
	var api *discovery.API
	err := c.conn.Types(c.p, cl, cfg).Known(ctx, func(now *discovery.API) error {
		api = now
		return nil
	})
	if err != nil {
		return
	}
	namespace := cfg.Namespace
	if all := cmd.Flags().Lookup("all-namespaces"); all != nil && all.Value.String() == "true" {
		namespace = ""
	}
	f(ctx, cl, api, namespace)
}

// dial returns a client, nil where the flags and files name no cluster, and its
// configuration.
func (c *completer) dial() (*client.Client, *config.Config) {
	cl, cfg, err := c.conn.Load(c.p, messages.New(io.Discard, "", true))
	if err != nil {
		return nil, nil
	}
	return cl, cfg
}

// types returns those that can be watched, between before and after, but for
// what before names already.
func types(api *discovery.API, before, after string) []string {
	given := strings.Split(before, ",")
	var found []string
	for r := range api.All() {
		if t := r.GroupResource(); r.Watchable() == nil && shell.Inert(t) && !slices.Contains(given, t) && !slices.Contains(found, before+t+after) {
			found = append(found, before+t+after)
		}
	}
	return found
}

// names returns those of one type, after prefix: one page, of metadata only.
func names(ctx context.Context, api *discovery.API, c *client.Client, namespace, typed, prefix string) []string {
	rs, err := api.Resolve(typed)
	if err != nil || len(rs) != 1 {
		return nil
	}
	if !rs[0].Namespaced {
		namespace = ""
	}
	return listNames(ctx, client.Of[kube.Partial](c, rs[0].Resource).In(namespace), prefix)
}

func listNames(ctx context.Context, col client.Collection[kube.Partial], prefix string) []string {
	var found []string
	seen := 0
	for o, err := range list.New(col, list.Options{Limit: completeMost}).All(ctx) {
		if err == nil && shell.Inert(o.Name) { // a name that is invalid is skipped
			found = append(found, prefix+o.Name)
		}
		if seen++; seen == completeMost {
			break
		}
	}
	return found
}

// inert returns the names that a shell takes for words and nothing else.
func inert(names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !shell.Inert(name) })
}

// unnamed returns names without those that were given already.
func unnamed(names, given []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(given, name) })
}

// namespaces completes -n.
func (c *completer) namespaces(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTime)
	defer cancel()
	cl, _ := c.dial()
	if cl == nil {
		return nil, noFiles
	}
	defer cl.CloseIdleConnections()
	return completeListed(listNames(ctx, client.Of[kube.Partial](cl, kube.Namespaces), ""))(cmd, args, prefix)
}

// contexts, clusters and users complete the flags of these names, from the files.
func (c *completer) contexts(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	names, _, _ := c.entries()
	return completeListed(names)(cmd, args, prefix)
}

func (c *completer) clusters(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	_, names, _ := c.entries()
	return names, noFiles
}

func (c *completer) users(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	_, _, names := c.entries()
	return names, noFiles
}

// entries returns the names in the kubeconfigs; none if one cannot be read.
func (c *completer) entries() (contexts, clusters, users []string) {
	o := c.conn.Opts
	o.Env, o.Home = c.p.Env, c.p.Env("HOME")
	contexts, clusters, users, _ = config.Names(o)
	return inert(contexts), inert(clusters), inert(users)
}

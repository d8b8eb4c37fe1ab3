package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
)

// Completion must be quick or give up: a person waits at the prompt.
const (
	completeTime = 2 * time.Second
	completeMost = 200
)

// complete sets what the shell completes: types, then names, as the server has
// them now, and the values of flags.
func (p *program) complete(cmd *cobra.Command, conn *connection) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completeTime)
		defer cancel()
		return p.arguments(ctx, conn, args, prefix), cobra.ShellCompDirectiveNoFileComp
	}
	for flag, values := range map[string][]string{
		"output": outputFormats, "color": {"auto", "always", "never"}, "redact": {"secrets", "none"},
		"log-format": {"text", "json"}, "list": {"auto", "paged", "stream"}, "event-column": {"auto", "true", "false"},
		"events": eventTypes,
	} {
		if cmd.Flags().Lookup(flag) == nil {
			continue
		}
		fixed := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
		cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag, fixed)) // fails for unknown flags only
	}
}

// arguments returns what may follow args; nothing where the server does not say.
func (p *program) arguments(ctx context.Context, conn *connection, args []string, prefix string) []string {
	t := newTalk(p.stderr, "", true)
	c, cfg, err := conn.load(p, t)
	if err != nil {
		return nil
	}
	defer c.CloseIdleConnections()
	api, err := discovery.Fetch(ctx, c)
	if err != nil {
		return nil
	}
	typed, _, slash := strings.Cut(prefix, "/")
	switch {
	case len(args) > 0 && !strings.Contains(args[0], "/"):
		return names(ctx, api, c, cfg.Namespace, args[0], "")
	case slash:
		return names(ctx, api, c, cfg.Namespace, typed, typed+"/")
	}
	before := ""
	if i := strings.LastIndexByte(prefix, ','); i >= 0 {
		before = prefix[:i+1]
	}
	var types []string
	for r := range api.All() {
		if r.Watchable() == nil && !slices.Contains(types, before+r.GroupResource()) {
			types = append(types, before+r.GroupResource())
		}
	}
	return types
}

// names returns those of one type, after prefix.
func names(ctx context.Context, api *discovery.API, c *client.Client, namespace, typed, prefix string) []string {
	rs, err := api.Resolve(typed)
	if err != nil || len(rs) != 1 {
		return nil
	}
	if !rs[0].Namespaced {
		namespace = ""
	}
	var found []string
	for o, err := range list.New(client.Of[kube.Partial](c, rs[0].Resource).In(namespace), list.Options{}).All(ctx) {
		if err != nil || len(found) == completeMost {
			break
		}
		found = append(found, prefix+o.Name)
	}
	return found
}

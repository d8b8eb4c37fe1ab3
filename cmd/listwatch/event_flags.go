package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/connect"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
)

// eventFlags select Events, spelled as those of kubectl events.
type eventFlags struct {
	about string // TYPE/NAME
	types string
}

func (e *eventFlags) register(f *pflag.FlagSet) {
	f.StringVar(&e.about, "for", "", "select the Events about this object, TYPE/NAME")
	f.StringVar(&e.types, "types", "", "select the Events of this type: Normal or Warning")
}

// given reports whether Events are selected.
func (e *eventFlags) given() bool { return e.about != "" || e.types != "" }

// waits reports whether --for is that of kubectl wait.
func (e *eventFlags) waits() bool {
	return strings.HasPrefix(e.about, "condition=") || strings.HasPrefix(e.about, "jsonpath=") || e.about == "create" || e.about == "delete"
}

// apply adds what the flags select to s; ts are the targets.
func (e *eventFlags) apply(ctx context.Context, c connect.Cluster, s *target.Selection, ts []target.Target) error {
	if !e.given() {
		return nil
	}
	for _, t := range ts {
		switch {
		case t.Resource.GroupResource() == "events":
		case e.waits():
			return exit.Usage("--for selects Events; to wait as kubectl wait does: listwatch watch %s --until %s", t.Resource.GroupResource(), printable.Clip(e.about))
		default:
			return exit.Usage("--for and --types select Events, not %s", t.Resource.GroupResource())
		}
	}
	var parts []string
	if !s.FieldsSel.Empty() {
		parts = append(parts, s.FieldsSel.String())
	}
	switch e.types {
	case "":
	case "Normal", "Warning":
		parts = append(parts, "type="+e.types)
	default:
		return exit.Usage("--types %q: want Normal or Warning", printable.Clip(e.types))
	}
	if e.about != "" {
		typed, name, ok := strings.Cut(e.about, "/")
		if !ok || typed == "" || target.CheckName(name) != nil {
			return exit.Usage("--for %q: want TYPE/NAME, such as pod/a", printable.Clip(e.about))
		}
		var rs []discovery.Resource
		if err := c.Types.Known(ctx, func(api *discovery.API) (err error) {
			if rs, err = api.Resolve(typed); err != nil {
				return exit.Failed(fmt.Errorf("--for %s: %w", printable.Clip(e.about), err))
			}
			return nil
		}); err != nil {
			return err
		}
		parts = append(parts, "involvedObject.kind="+rs[0].Kind, "involvedObject.name="+name)
	}
	fields, err := kube.ParseFieldSelector(strings.Join(parts, ","))
	if err != nil {
		return exit.Usage("--for %q: %w", printable.Clip(e.about), err)
	}
	s.FieldsSel = fields
	return nil
}

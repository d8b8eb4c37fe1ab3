package crd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// EnsureOptions set how definitions are applied. The zero value is the recommended
// setting.
type EnsureOptions struct {
	// FieldManager owns the applied members; default "crd". The replicas of a program
	// must use the same.
	FieldManager string

	// DryRun makes the server check the definitions, CEL rules included, and store nothing.
	// Ensure then returns without waiting.
	DryRun bool
}

// Ensure applies definitions by server-side apply, takes over members that others own, and
// waits until the server has accepted their names and serves each version with Served set.
// A definition that is being deleted is created again once it is gone. Ensure needs the
// verbs create, patch, list and watch of customresourcedefinitions. It waits at most until
// ctx ends. If another definition has the names, Ensure returns a *[NamesError], after 5 s:
// until then, the server's reports may still be about the former names. Ensure does not
// check whether a change breaks stored objects: see [Diff] and [Check]. The last call wins: a
// replica of a former version that restarts during an update applies its own definition again,
// and the server drops the members that this lacks. If these are a version for which another call
// of Ensure still waits, that call fails. Ensure does not need a conversion webhook, which may
// begin after it.
func Ensure(ctx context.Context, c *client.Client, o EnsureOptions, defs ...*Definition) error {
	if o.FieldManager == "" {
		o.FieldManager = "crd"
	}
	col := client.Of[served](c, kube.CustomResourceDefinitions).With(client.WriteOptions{FieldManager: o.FieldManager, DryRun: o.DryRun, Validation: "Strict"})
	for _, d := range defs {
		if err := apply(ctx, col, d, o.DryRun); err != nil {
			return fmt.Errorf("ensure: %w", err)
		}
	}
	if o.DryRun {
		return nil
	}
	for _, d := range defs {
		err := established(ctx, col, d)
		for errors.Is(err, errUnchecked) && wait.For(ctx, 100*time.Millisecond) == nil {
			err = checkNames(ctx, col, d)
		}
		if err != nil {
			return fmt.Errorf("ensure: wait until %s is established: %w", d.Metadata.Name, err)
		}
		for i := range d.Spec.Versions {
			v := &d.Spec.Versions[i]
			if !v.Served {
				continue
			}
			exists := func() error { return established(ctx, col, d) }
			if err := answers(ctx, c, d.resource(v.Name), exists); err != nil {
				return fmt.Errorf("ensure: wait until %s is served: %w", d.resource(v.Name), err)
			}
		}
	}
	return nil
}

// apply applies d. If the stored definition is being deleted, apply waits until it is
// gone, and creates it.
func apply(ctx context.Context, col client.Collection[served], d *Definition, dryRun bool) error {
	body, err := d.body()
	if err != nil {
		return err
	}
	for {
		stored, err := col.Apply(ctx, kube.Key{Name: d.Metadata.Name}, body, client.ApplyOptions{Force: true})
		if d.keepsWebhook(err) {
			if err = removeWebhook(ctx, col, d, body, dryRun); err == nil && !dryRun {
				stored, err = col.Apply(ctx, kube.Key{Name: d.Metadata.Name}, body, client.ApplyOptions{Force: true})
			}
		}
		if err != nil || stored.DeletionTimestamp == nil || dryRun {
			return err
		}
		if err := deleted(ctx, col, stored); err != nil {
			return fmt.Errorf("wait until %s, which is being deleted, is gone: %w", d.Metadata.Name, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// body returns what Ensure applies. It names the strategy None, because the server keeps
// another one if the member is left out and others own it.
func (d *Definition) body() ([]byte, error) {
	if d.Spec.Conversion == nil {
		explicit := *d
		explicit.Spec.Conversion = &Conversion{Strategy: d.strategy()}
		d = &explicit
	}
	return d.JSON()
}

// keepsWebhook reports whether an apply of d failed because the stored definition has the
// configuration of a conversion webhook, parts of which others own, such as its CA. No apply
// removes these.
func (d *Definition) keepsWebhook(err error) bool {
	st := (*kube.Status)(nil)
	return d.unconverted() && errors.As(err, &st) && errors.Is(st, kube.ErrInvalid) && st.Details != nil &&
		slices.ContainsFunc(st.Details.Causes, func(c kube.StatusCause) bool { return strings.HasPrefix(c.Field, "spec.conversion.webhook") })
}

// removeWebhook removes the configuration of a conversion webhook if the server accepts d
// without it.
func removeWebhook(ctx context.Context, col client.Collection[served], d *Definition, body []byte, dryRun bool) error {
	merged, err := codec.Decode[map[string]any](body)
	if err != nil {
		return err
	}
	conversion := map[string]any{"strategy": "None", "webhook": nil}
	spec, _ := merged["spec"].(map[string]any)
	spec["conversion"] = conversion
	dry := col.Write
	dry.DryRun = true
	if _, err = col.With(dry).Patch(ctx, kube.Key{Name: d.Metadata.Name}, client.MergePatch, merged); err != nil || dryRun {
		return err
	}
	_, err = col.Patch(ctx, kube.Key{Name: d.Metadata.Name}, client.MergePatch, map[string]any{"spec": map[string]any{"conversion": conversion}})
	return err
}

// NamesError reports that another definition has the names of a definition.
type NamesError struct {
	Definition string
	Reason     string // the server's, such as PluralConflict
	Message    string // the server's
}

func (e *NamesError) Error() string {
	return fmt.Sprintf("the names of %s are not accepted (%s): %s; choose other names, or delete the definition that has them", e.Definition, e.Reason, e.Message)
}

// served is what matters of a stored definition.
type served struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Names    Names `json:"names"`
		Versions []struct {
			Name   string `json:"name"`
			Served bool   `json:"served"`
		} `json:"versions"`
	} `json:"spec,omitzero"`
	Status struct {
		AcceptedNames Names `json:"acceptedNames"`
		Conditions    []struct {
			Type    string `json:"type"`
			Status  string `json:"status"`
			Reason  string `json:"reason"`
			Message string `json:"message"`
		} `json:"conditions"`
	} `json:"status,omitzero"`
}

// errUnchecked means that the server refused former names and does not check those in the spec.
var errUnchecked = errors.New("the server has not checked the names since it refused others")

// errDeleted means that somebody deleted the definition after it was applied.
var errDeleted = errors.New("it was deleted")

// errReplaced means that somebody applied another definition after it.
var errReplaced = errors.New("another process has replaced the definition")

// serves returns errReplaced unless the stored definition serves the versions that d serves.
func (s *served) serves(d *Definition) error {
	var names []string
	for _, v := range s.Spec.Versions {
		if v.Served {
			names = append(names, v.Name)
		}
	}
	for _, v := range d.Spec.Versions {
		if v.Served && !slices.Contains(names, v.Name) {
			return fmt.Errorf("%w by one that serves %s, not %s", errReplaced, cmp.Or(strings.Join(names, ", "), "no version"), v.Name)
		}
	}
	return nil
}

// checkNames makes the server check the names of d. If a refused name is removed, and the
// others are those that the server has accepted, it does not check them, and goes on to
// report the refusal. A category that is added and removed changes the names.
func checkNames(ctx context.Context, col client.Collection[served], d *Definition) error {
	other := *d
	other.Spec.Names.Categories = append(slices.Clone(d.Spec.Names.Categories), "listwatch-checks-names")
	for _, d := range []*Definition{&other, d} {
		if err := apply(ctx, col, d, false); err != nil {
			return err
		}
		if err := established(ctx, col, d); err != nil {
			return err
		}
	}
	return nil
}

// settle is how long the server may take to check names that were changed.
const settle = 5 * time.Second

// established waits until the definition serves the names in its spec, which must also serve the
// versions of d. The conditions do not say which names they are about: the server updates them, and
// the names that it has accepted, some time after a change of the spec.
func established(ctx context.Context, col client.Collection[served], d *Definition) error {
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	refused, timer := NamesError{}, time.NewTimer(0) // when refused has stood for long enough
	timer.Stop()
	defer func() { timer.Stop() }()
	exists := false
	return follow(ctx, col, d.Metadata.Name, func(ev watch.Event[served]) (done bool, err error) {
		switch ev.Type {
		case watch.Restart:
			exists = false
			return false, nil
		case watch.Synced:
			if !exists { // it was gone before the list
				return false, errDeleted
			}
			return false, nil
		case watch.Deleted:
			return false, errDeleted
		case watch.Added, watch.Modified:
			exists = true
		default:
			return false, nil
		}
		now, ready := NamesError{}, false
		for _, c := range ev.Object.Status.Conditions {
			switch {
			case c.Type == "NamesAccepted" && c.Status == "False":
				now = NamesError{Definition: d.Metadata.Name, Reason: c.Reason, Message: c.Message}
			case c.Type == "Established" && c.Status == "True":
				ready = true
			}
		}
		switch same := ev.Object.Spec.Names.equal(ev.Object.Status.AcceptedNames); {
		case same && ready:
			return true, ev.Object.serves(d)
		case same && now != (NamesError{}):
			return false, errUnchecked
		}
		if now != refused {
			timer.Stop()
			if refused = now; now != (NamesError{}) {
				timer = time.AfterFunc(settle, func() { refuse(&now) })
			}
		}
		return false, nil
	})
}

// deleted waits until the definition, which is being deleted, is gone.
func deleted(ctx context.Context, col client.Collection[served], dying served) error {
	exists := false
	return follow(ctx, col, dying.Name, func(ev watch.Event[served]) (done bool, err error) {
		switch ev.Type {
		case watch.Restart:
			exists = false
		case watch.Added, watch.Modified:
			exists = ev.UID == dying.UID
		case watch.Deleted:
			return true, nil
		case watch.Synced:
			return !exists, nil
		}
		return false, nil
	})
}

// follow calls each with the events of a definition until that is done or fails.
func follow(ctx context.Context, col client.Collection[served], name string, each func(watch.Event[served]) (done bool, err error)) error {
	for ev, err := range watch.New(col.Where(kube.Selector{}, kube.NameSelector(name)), watch.Options{}).Events(ctx) {
		var pause *watch.Interruption
		switch {
		case errors.As(err, &pause):
			if errors.Is(err, kube.ErrForbidden) || errors.Is(err, kube.ErrUnauthorized) {
				return err
			}
			continue
		case err != nil:
			return err
		}
		if done, err := each(ev); done || err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// absent is the name of an object that nobody creates.
const absent = "listwatch-asks-if-this-is-served"

// answers waits until r is served: that is some milliseconds after its definition is
// established. The server that answers is one of several, perhaps. It asks for an object that
// does not exist: to read one that is stored in another version, the server needs the
// conversion webhook, which the caller may start after Ensure. exists returns errDeleted or
// errReplaced if the definition is gone: then r is never served.
func answers(ctx context.Context, c *client.Client, r kube.Resource, exists func() error) error {
	namespace := ""
	if r.Namespaced {
		namespace = "default"
	}
	for {
		_, err := client.Of[kube.Partial](c, r).Get(ctx, kube.Key{Namespace: namespace, Name: absent})
		st := (*kube.Status)(nil)
		switch {
		case err == nil, errors.Is(err, kube.ErrForbidden): // it is not ours to read, and served
			return nil
		case errors.Is(err, kube.ErrNotFound):
			if errors.As(err, &st) && st.Details != nil && st.Details.Name == absent {
				return nil
			}
			if gone := exists(); errors.Is(gone, errDeleted) || errors.Is(gone, errReplaced) {
				return gone
			}
		case !errors.Is(err, kube.ErrUnavailable) && !errors.Is(err, kube.ErrThrottled):
			return err
		}
		if wait.For(ctx, 100*time.Millisecond) != nil {
			return err
		}
	}
}

// stored returns the definition on the server.
func (d *Definition) stored(ctx context.Context, c *client.Client) (*stored, error) {
	o, err := client.Of[codec.Raw](c, kube.CustomResourceDefinitions).Get(ctx, kube.Key{Name: d.Metadata.Name})
	if err != nil {
		return nil, err
	}
	s := new(stored)
	if err := o.Decode(s); err != nil {
		return nil, fmt.Errorf("read the definition %s: %w", d.Metadata.Name, err)
	}
	return s, nil
}

type stored struct {
	Definition
	Status struct {
		StoredVersions []string `json:"storedVersions"`
	} `json:"status"`
}

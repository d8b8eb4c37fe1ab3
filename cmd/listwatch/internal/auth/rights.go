package auth

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/shell"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
)

const (
	mostTypes = 100 // that are asked about where none is named: two questions each
	atOnce    = 8   // questions
)

// rights asks what may be listed and watched.
func (c *check) rights(ctx context.Context) error {
	step := &c.report.Rights
	targets, err := c.targets(ctx)
	if err != nil {
		step.fail(errors.Unwrap(err), c.advice(errors.Unwrap(err)))
		return exit.Failed(fmt.Errorf("auth check: %w", errors.Unwrap(err)))
	}
	for _, t := range targets {
		step.Rows = append(step.Rows, Right{Resource: t.Resource.GroupResource(), Version: t.Resource.Version,
			Namespace: t.Namespace, Name: t.Name, Namespaced: t.Resource.Namespaced})
	}
	step.Status = statusOK
	if err := c.ask(ctx, targets, step.Rows); err != nil {
		return c.cannotAsk(err)
	}
	return c.judge()
}

// targets are what is asked about: what was named, or all that can be watched.
func (c *check) targets(ctx context.Context) ([]target.Target, error) {
	step := &c.report.Rights
	if step.asked = c.wish.Types != nil; step.asked {
		return c.wish.Targets(ctx, c.client, c.where(), target.ToWatch)
	}
	api, err := discovery.Fetch(ctx, c.client)
	if err != nil {
		return nil, exit.Failed(err)
	}
	for _, name := range slices.Sorted(maps.Keys(api.Broken())) {
		step.warn(fmt.Sprintf("%s is not served now: %v", name, api.Broken()[name]))
	}
	var targets []target.Target
	known, more := map[string]bool{}, 0
	for r := range api.All() {
		switch name := r.GroupResource(); {
		case r.Watchable() != nil || known[name]:
		case len(targets) == mostTypes:
			known[name] = true
			more++
		default:
			known[name] = true
			targets = append(targets, target.Split(r.Resource, c.where(), nil)...)
		}
	}
	if more > 0 {
		step.warn(fmt.Sprintf("the server has %s more, which were not checked: name those that matter", printable.Count(more, "type")))
	}
	return targets, nil
}

// ask puts two questions for each target. It ends with the first one that could
// not be asked.
func (c *check) ask(ctx context.Context, targets []target.Target, rows []Right) error {
	type question struct {
		verb   string
		Target target.Target
		to     *answer
	}
	var all []question
	for i, t := range targets {
		all = append(all, question{"list", t, &rows[i].List}, question{"watch", t, &rows[i].Watch})
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slots := make(chan struct{}, atOnce)
	var running sync.WaitGroup
	for _, q := range all {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		running.Go(func() {
			defer func() { <-slots }()
			var err error
			if *q.to, err = c.may(ctx, q.verb, q.Target); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// may asks one question.
func (c *check) may(ctx context.Context, verb string, t target.Target) (answer, error) {
	type status struct {
		Allowed         bool   `json:"allowed"`
		Reason          string `json:"reason"`
		EvaluationError string `json:"evaluationError"`
	}
	attributes := map[string]string{"verb": verb, "group": t.Resource.Group, "version": t.Resource.Version, "resource": t.Resource.Plural,
		"namespace": t.Namespace, "name": t.Name}
	got, err := review[status](ctx, c.client, "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview",
		map[string]any{"resourceAttributes": attributes})
	if err != nil {
		return answer{}, err
	}
	a := answer{Allowed: got.Allowed, Reason: printable.Line(got.Reason)}
	if !a.Allowed && a.Reason == "" {
		a.Reason = printable.Line(got.EvaluationError)
	}
	return a, nil
}

// cannotAsk ends a check whose questions were not answered.
func (c *check) cannotAsk(err error) error {
	step := &c.report.Rights
	step.Rows = nil
	switch {
	case errors.Is(err, kube.ErrNotFound):
		err = errors.New("the server has no SelfSubjectAccessReview, so it cannot say what may be listed and watched: try it with listwatch watch")
	case errors.Is(err, kube.ErrForbidden):
		// Not wrapped: the usual advice is about the types, not about this question.
		err = fmt.Errorf(`the server does not say what may be listed and watched: %v; ask to be bound to ClusterRole "system:basic-user", as by default all are who are logged in, or try, as by listwatch watch`, err)
	}
	step.fail(err, c.advice(err))
	return exit.Failed(fmt.Errorf("auth check: %w", err))
}

// judge says whether all that was asked for may be listed and watched.
func (c *check) judge() error {
	step := &c.report.Rights
	var lacking []Right
	for _, r := range step.Rows {
		if !r.List.Allowed || !r.Watch.Allowed {
			lacking = append(lacking, r)
		}
	}
	switch {
	case len(lacking) == 0 && len(step.Rows) > 0:
		return nil
	case !step.asked && len(lacking) < len(step.Rows):
		return nil // something can be watched, and nothing in particular was asked for
	}
	step.Status = statusFailed
	switch {
	case len(step.Rows) == 0:
		step.Error = "the server has nothing that can be listed and watched"
	case !step.asked:
		step.Error = fmt.Sprintf("none of the %d types of the server may be listed and watched %s", len(step.Rows), everywhere(c.where(), true))
		step.Advice = "ask for a role, or give -n, --context or --as"
	default:
		var words []string
		for _, r := range lacking {
			words = append(words, r.lacks())
		}
		step.Error = strings.Join(words, "; ")
		step.Advice = lacking[0].Remedy()
	}
	return exit.Failed(fmt.Errorf("auth check: %s; %s", step.Error, step.Advice))
}

// lacks says what r may not.
func (r Right) lacks() string {
	verbs := "neither be listed nor watched"
	switch {
	case r.List.Allowed:
		verbs = "be listed, but not watched"
	case r.Watch.Allowed:
		verbs = "be watched, but not listed"
	}
	what := r.Resource
	if r.Name != "" {
		what += "/" + r.Name
	}
	return what + " may " + verbs + " " + everywhere(r.Namespace, r.Namespaced)
}

// Remedy is the command by which somebody with the right to can grant it.
func (r Right) Remedy() string {
	command := []string{"kubectl", "create", "clusterrole", "NAME"}
	if r.Namespace != "" {
		command = []string{"kubectl", "create", "role", "NAME", "-n", r.Namespace}
	}
	command = append(command, "--verb=list,watch", "--resource="+r.Resource)
	return fmt.Sprintf(`an administrator can grant it: "%s" and a binding of it; or give -n, --context or --as`, shell.Quote(command...))
}

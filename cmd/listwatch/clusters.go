package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/connect"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/internal/wait"
)

// reached is the result of the first requests to the clusters of a run.
type reached struct {
	clusters map[string]connect.Cluster // by name
	targets  []target.Target
	late     []lateCluster
}

// lateCluster is a cluster that could not be reached at the start; err says why.
type lateCluster struct {
	connect.Cluster
	err      error
	discover discovering
}

// discovering returns what a run follows in a cluster. It may set the UID of the cluster.
type discovering func(context.Context, *connect.Cluster) ([]target.Target, error)

func (r *reached) close() {
	for _, c := range r.clusters {
		c.Client.CloseIdleConnections()
	}
}

// closeIdleConnections closes the idle connections to all clusters.
func (s *session) closeIdleConnections() {
	for _, c := range s.clusters {
		c.Client.CloseIdleConnections()
	}
}

// silence is how long a run waits for other clusters after the first response.
const silence = 5 * time.Second

var errSilent = fmt.Errorf("no response %s after that of another cluster", silence)

// reach calls discover for all clusters concurrently. If there are several, a cluster that
// cannot be reached is late; any other error ends the run. With hasty, a cluster is also
// late if it has not responded within silence after the first response.
func reach(ctx context.Context, clusters []connect.Cluster, hasty bool, discover discovering) (*reached, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	giveUp := sync.OnceFunc(func() {
		go func() {
			select {
			case <-time.After(silence):
				cancel(errSilent)
			case <-ctx.Done():
			}
		}()
	})
	r := &reached{clusters: map[string]connect.Cluster{}}
	found, errs := make([][]target.Target, len(clusters)), make([]error, len(clusters))
	var asking sync.WaitGroup
	for i := range clusters {
		asking.Go(func() {
			if found[i], errs[i] = discover(ctx, &clusters[i]); errs[i] == nil && hasty {
				giveUp()
			}
		})
	}
	asking.Wait()
	silent := errors.Is(context.Cause(ctx), errSilent)
	for _, c := range clusters {
		r.clusters[c.Name] = c
	}
	for i, c := range clusters {
		switch err := errs[i]; {
		case silent && (errors.Is(err, context.Canceled) || errors.Is(err, errSilent)):
			r.late = append(r.late, lateCluster{Cluster: c, err: errSilent})
		case err == nil:
			r.targets = append(r.targets, found[i]...)
		case len(clusters) > 1 && away(err):
			r.late = append(r.late, lateCluster{Cluster: c, err: err})
		case len(clusters) > 1:
			return r, inCluster(c.Name, err)
		default:
			return r, err
		}
	}
	if len(r.targets) == 0 && len(r.late) > 0 {
		return r, inCluster(r.late[0].Name, r.late[0].err)
	}
	return r, nil
}

// inCluster returns err with the name of the cluster, and the same exit code.
func inCluster(name string, err error) error {
	code := exit.CodeFailed
	var f *exit.Error
	if errors.As(err, &f) {
		code, err = f.Code, f.Err
	}
	return &exit.Error{Code: code, Err: fmt.Errorf("%s: %w", name, err)}
}

// join waits until a late cluster can be reached, and then follows its targets.
func (s *session) join(ctx context.Context, l lateCluster, records chan<- record.Record, begin func(follower)) error {
	err := l.err
	for pause := firstWait; ; pause = min(2*pause, mostWait) {
		s.talk.Warn(l.Name, fmt.Sprintf("cannot begin: %s; again in %s", printable.Line(err.Error()), printable.Rough(pause)),
			"failed", "op", "start", "err", printable.Line(err.Error()), "wait", pause.String())
		s.monitor.Absent(l.Name, printable.Line(err.Error()))
		if wait.For(ctx, pause) != nil {
			return nil // the streams return the reason
		}
		var ts []target.Target
		ts, err = l.discover(ctx, &l.Cluster)
		if ctx.Err() != nil {
			return nil // the streams return the reason
		}
		if err != nil {
			continue
		}
		s.monitor.Absent(l.Name, "")
		if s.kept != nil {
			added, err := s.admit(ctx, l.Cluster, ts, records)
			for _, f := range added {
				begin(f)
			}
			return err
		}
		for _, t := range ts {
			f, isNew, err := s.add(ctx, t, records)
			if err != nil {
				return err
			}
			if isNew { // otherwise explore has added it
				begin(f)
			}
		}
		return nil
	}
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/auth"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
)

// A run with a checkpoint goes on where others ended, which had found the server.
// When such a run starts and no server can be reached, as when a whole machine starts, it
// waits for one, as it would later on: where there are several, it begins with those that
// answer. All other runs end at once: the
// address may be wrong, and a list is wanted now.

// Between two attempts to begin.
const (
	firstWait = time.Second
	mostWait  = 30 * time.Second
)

// goesOn reports whether the run goes on from another one, and then on and on.
func (o *watchFlags) goesOn() bool {
	if o.checkpointing.file == "" || o.checkpointing.reset || o.once {
		return false
	}
	fi, err := os.Stat(o.checkpointing.file)
	return err == nil && fi.Mode().IsRegular() && fi.Size() > 0
}

// reach asks, and asks again as long as the server is away and the run goes on from
// another one. The cluster is empty where there is one.
func (o *watchFlags) reach(ctx context.Context, t *messages.Writer, cluster string, ask func() error) error {
	for attempt, pause := 1, firstWait; ; attempt, pause = attempt+1, min(2*pause, mostWait) {
		err := ask()
		if err == nil || ctx.Err() != nil || !away(err) || !o.goesOn() || o.maxFailures >= 0 && attempt >= max(1, o.maxFailures) {
			return err
		}
		d := pause + rand.N(pause)
		t.Warn(cmp.Or(cluster, "start"), fmt.Sprintf("cannot begin: %s; again in %s", auth.Brief(err), printable.Rough(d)),
			"failed", "op", "start", "err", printable.Line(err.Error()), "attempt", attempt, "wait", d.String())
		if err := wait.For(ctx, d); err != nil {
			return err
		}
	}
}

// away reports whether err says that the server cannot be reached, or cannot answer
// now; not that it has an opinion.
func away(err error) bool {
	var status *kube.Status
	if errors.As(err, &status) {
		return status.Code >= 500 || errors.Is(status, kube.ErrThrottled)
	}
	var network net.Error
	return errors.As(err, &network) || auth.LostConnection(err) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, client.ErrIdle)
}

package recording

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/refused"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/replay"
)

// recorder creates the file and returns what records to it.
func (o *fileFlags) recorder(ctx context.Context, c *client.Client, t *messages.Writer) (*recorder, error) {
	out, old, err := o.create(c, replay.Header{Tool: "listwatch " + cli.ThisBuild().Version, Cluster: clusterOf(ctx, c)})
	if err != nil {
		return nil, err
	}
	return &recorder{flags: o, client: c, talk: t, out: out, old: old, began: time.Now()}, nil
}

// recorder is one run of record, or of record proxy.
type recorder struct {
	flags   *fileFlags
	proxied bool // requests of another client are recorded, not events
	client  *client.Client
	talk    *messages.Writer
	out     *replay.Writer
	old     *replaced   // until something is recorded
	begun   atomic.Bool // something is
	told    bool        // where old is
	began   time.Time
	count   atomic.Int64 // events of objects
	waiting atomic.Int64 // targets whose first state is not known
	skipped refused.Targets
	folder  *messages.Folder
	denied  atomic.Bool // a target was refused at once: there shall be no recording
}

// begin notes that something is recorded: once it is in the new file, the old one is removed.
func (r *recorder) begin() {
	if r.begun.Load() {
		return
	}
	if err := r.out.Flush(); err != nil && !errors.Is(err, replay.ErrFull) {
		return
	}
	if r.begun.CompareAndSwap(false, true) {
		r.old.remove()
	}
}

// answered notes that the first state of one more target is known, or cannot be. When all are,
// something is recorded, even if it is that there are no objects.
func (r *recorder) answered() {
	if r.waiting.Add(-1) == 0 {
		r.begin()
	}
}

// exchanged notes the first response to another client.
func (r *recorder) exchanged() {
	if r.proxied && r.out.Count(replay.KindResp) > 0 {
		r.begin()
	}
}

// tick is called again and again while r records. It fails when that cannot go on.
func (r *recorder) tick() error {
	if err := r.out.Flush(); err != nil {
		return r.broken(err)
	}
	r.exchanged()
	if r.old != nil && !r.begun.Load() && !r.told && time.Since(r.began) > time.Second {
		r.told = true
		r.talk.Info("record", "until something is recorded, the old file is "+r.old.path, "set aside", "file", r.old.path)
	}
	return nil
}

// broken returns the error that ends a recording that failed with err.
func (r *recorder) broken(err error) error {
	if errors.Is(err, replay.ErrLost) {
		return exit.Failed(fmt.Errorf("record to %s: %w: do not change the file while listwatch runs; what was recorded is lost, unless the file was only renamed", r.flags.file, err))
	}
	return exit.Failed(fmt.Errorf("record to %s: %w%s", r.flags.file, err, cli.RoomFor(err, "it")))
}

// close ends the file in good order. An end by err is the end of the program.
func (r *recorder) close(err error) error {
	r.exchanged()
	none := !r.begun.Load() && (r.old != nil || r.denied.Load())
	e, removed := r.out.Flush(), false
	if none && runtime.GOOS != "windows" && !errors.Is(e, replay.ErrLost) {
		removed = r.withdraw() // while it is locked: else another --force takes it for a recording
	}
	if closed := r.out.Close(); !removed {
		e = closed
	}
	switch {
	case errors.Is(e, replay.ErrLost): // what is at the path is not ours
		return r.giveBack(r.broken(e))
	case e != nil && (none || !errors.Is(e, replay.ErrFull)) && (err == nil || errors.Is(err, exit.ErrAskedFor)):
		err = r.broken(e)
	}
	if none {
		if removed = removed || r.withdraw(); r.old == nil && removed {
			r.talk.Info("record", r.flags.file+": nothing is recorded", "nothing recorded", "file", r.flags.file)
		}
		return r.giveBack(advise(err, ""))
	}
	size := int64(0)
	if info, e := os.Stat(r.flags.file); e == nil {
		size = info.Size()
	}
	what := ""
	if !r.proxied {
		what = printable.Count(int(r.count.Load()), "event") + ", "
	}
	r.talk.Info("record", fmt.Sprintf("%s: %s%s in %s", r.flags.file, what, sizeText(size), printable.Rough(time.Since(r.began))),
		"recorded", "file", r.flags.file, "events", r.count.Load(), "bytes", size)
	return advise(err, "; what came before is in it")
}

// withdraw removes the file, in which nothing is: the one that it replaced takes its place at once.
func (r *recorder) withdraw() bool {
	if r.old != nil {
		return os.Rename(r.old.path, r.flags.file) == nil
	}
	return os.Remove(r.flags.file) == nil
}

// advise says what helps against the size limit; in it is what the recording has.
func advise(err error, in string) error {
	if errors.Is(err, replay.ErrFull) {
		return exit.Failed(fmt.Errorf("%w%s: give a larger --max-bytes, or -1", err, in))
	}
	return err
}

// giveBack puts the file that --force replaced back, if nothing is recorded that replaces it.
func (r *recorder) giveBack(err error) error {
	if r.old == nil || r.begun.Load() {
		return err
	}
	switch e := r.old.restore(r.flags.file); {
	case e != nil && (err == nil || errors.Is(err, exit.ErrAskedFor)):
		return exit.Failed(e)
	case e != nil:
		return exit.Failed(also(err, e))
	}
	r.talk.Info("record", "nothing is recorded: "+r.flags.file+" is as it was", "nothing recorded", "file", r.flags.file)
	return err
}

// sizeText prints a number of bytes as people say it.
func sizeText(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	}
	return fmt.Sprintf("%d MB", n/1_000_000)
}

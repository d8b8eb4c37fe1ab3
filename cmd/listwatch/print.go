package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/hook"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/order"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/until"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/filter"
	"github.com/listwatch/listwatch/internal/jq"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// output says what is asked for and printed, and how.
type output struct {
	format print.Format

	omitEmpty bool // a list of nothing is not printed at all
	whole     bool // rows come with the object that they were made of
	managed   bool // managedFields are kept

	expressManaged bool // the expression of custom sees them, kept or not
	keeps          bool // there is a checkpoint
	env            bool // values of environment variables are redacted too

	types       []string // printed; nil = all but BOOKMARK
	skipInitial bool     // objects of a first list are not printed
	visible     bool     // MODIFIED only where a printed column has changed
	where       filter.Criteria
	filter      filter.Filter
	verdict     *until.Verdict // of --until and its like; nil = none
	maxEvents   int            // 0 = no limit
	hooks       *hooks         // nil = none
}

// wants reports whether records of type t are printed.
func (o *output) wants(t string) bool {
	if o.types == nil {
		return t != string(watch.Bookmark)
	}
	return slices.Contains(o.types, t)
}

// byTime returns what sorts a first list of r, nil if it stays as it comes: the rows of Events
// are sorted, but for those that are sorted otherwise.
func (o *output) byTime(r kube.Resource) *order.ByTime {
	if r.Plural != kube.Events.Plural || r.Group != kube.Events.Group && r.Group != "events.k8s.io" || !o.tables() || o.whole {
		return nil
	}
	return &order.ByTime{}
}

// query asks for what the rows were made of, where that is looked at, or sorted by.
func (o *output) query(sorted *order.ByTime) url.Values {
	if !o.tables() || !o.looks() && sorted == nil {
		return nil
	}
	return url.Values{"includeObject": {"Object"}}
}

// looks reports whether objects are looked at, not only their rows or names.
func (o *output) looks() bool {
	return o.where.Asks() || o.filter.Looks() || o.verdict != nil || o.hooks != nil || o.whole
}

// tables reports whether the server is asked for rows.
func (o *output) tables() bool { return print.IsTable(o.format.Name) && !o.format.Extra.Plain }

// names reports whether the server is asked for no more than metadata. A checkpoint
// has whole objects: the next run may print more than names.
func (o *output) names() bool { return o.format.Name == "name" && !o.looks() && !o.keeps }

// accept asks for no more than is printed.
func (o *output) accept() client.Accept {
	const as = "application/json;as=%s;v=v1;g=meta.k8s.io,application/json"
	switch {
	case o.tables():
		table := fmt.Sprintf(as, "Table")
		return client.Accept{Object: table, List: table}
	case o.names():
		return client.Accept{Object: fmt.Sprintf(as, "PartialObjectMetadata"), List: fmt.Sprintf(as, "PartialObjectMetadataList")}
	}
	return client.Accept{}
}

// Writes are made when nothing more is waiting, or else this large or old.
const (
	batchBytes = 64 << 10
	batchTime  = 50 * time.Millisecond
	batchRows  = 500 // of a list
)

// printer writes records, in batches while they come fast, at once when they do
// not. It owns the numbering.
type printer struct {
	output output
	w      io.Writer
	enc    print.Encoder
	done   <-chan struct{} // the watches, or the list, have ended before their time
	stop   func(error)     // ends the watches

	// keeper, if set, is given the records in their order, before and after stdout has
	// taken what is printed of them.
	keeper *keeper

	buf       []byte
	held      int // bytes of the objects since the last write
	seq       int64
	events    int  // objects printed
	over      bool // nothing more is printed
	err       error
	unsettled []record.Record // not passed to keeper yet
	spots     []spot          // of each of them
	pending   []hook.Event    // not given to hooks yet
	errs      func(error)     // records that cannot be encoded
}

// run prints until records is closed, and returns why it stopped printing, nil
// if it did not.
func (p *printer) run(records <-chan record.Record) error {
	p.enc = p.output.format.Encoder()
	if lines, ok := p.enc.(*print.NdjsonEncoder); ok {
		lines.Seq = p.seq
	}
	for r := range records {
		p.take(&r)
		began := time.Now()
		for more := true; more && !p.full(began); {
			if r, more = p.next(records, r.Initial); more {
				p.take(&r)
			}
		}
		p.write(p.enc.Flush(p.buf))
	}
	select {
	case <-p.done:
		if p.output.format.Custom != nil || p.output.whole && p.events == 0 {
			return p.err // an expression sees a whole list or none, and so does a list in order
		}
	default:
	}
	if p.output.omitEmpty && p.events == 0 {
		return p.err
	}
	b, err := p.enc.End(p.enc.Flush(nil))
	p.write(b)
	if p.err == nil && err != nil {
		p.err = exit.Failed(fmt.Errorf("print the list: %w", err))
	}
	return p.err
}

// full reports whether to write the batch now, though more may follow at once. A batch of
// a list is so large that the speed of its pages does not decide which rows are aligned.
func (p *printer) full(began time.Time) bool {
	if len(p.buf) >= batchBytes || p.held >= record.BatchHeld {
		return true
	}
	if t, ok := p.enc.(print.Rowed); ok {
		switch {
		case t.Size() >= record.BatchHeld:
			return true
		case p.output.format.List:
			return t.Kept() >= batchRows
		}
	}
	return time.Since(began) >= batchTime
}

// next returns the next record if it is there. Among those of a first list it
// waits for a moment, so that what is listed together is aligned together, and in a
// list as long as it takes.
func (p *printer) next(records <-chan record.Record, initial bool) (record.Record, bool) {
	if p.output.format.List {
		r, ok := <-records
		return r, ok
	}
	select {
	case r, ok := <-records:
		return r, ok
	default:
		if !initial {
			return record.Record{}, false
		}
	}
	select {
	case r, ok := <-records:
		return r, ok
	case <-time.After(batchTime / 5):
		return record.Record{}, false
	}
}

func (p *printer) take(r *record.Record) {
	r.Arrived()
	p.held += r.Size()
	if r.Say != nil {
		p.write(p.enc.Flush(p.buf))
		r.Say()
		return
	}
	if p.over {
		return
	}
	if p.keeper != nil {
		p.unsettled = append(p.unsettled, *r)
		defer p.locate()
	}
	if r.Mark != record.NoMark {
		return
	}
	p.show(r)
	if p.output.verdict == nil || p.over {
		return
	}
	if end := p.output.verdict.See(r); end != nil {
		p.over = true
		p.stop(end)
	}
}

// show prints r, if it is asked for.
func (p *printer) show(r *record.Record) {
	printed := p.output.wants(r.Type) && (r.IsObject() || p.output.format.Name == "ndjson")
	if !printed && !p.output.hooks.wants(r) || p.output.skipInitial && r.Initial {
		return
	}
	keeps, err := p.output.filter.Keeps(r)
	if err != nil {
		p.errs(fmt.Errorf("%s: %w", record.KubectlName(r.Resource, r.ID.Name), err))
	}
	if !keeps || !p.visible(r) {
		return
	}
	p.seq++
	defer p.hook(r)
	if !printed {
		return
	}
	b, err := p.enc.Encode(p.buf, r)
	if err != nil {
		if p.output.hooks == nil {
			p.seq-- // no line has the number
		}
		err = fmt.Errorf("print %s: %w", record.KubectlName(r.Resource, r.ID.Name), err)
		if errors.Is(err, jq.ErrEnded) { // the next run with the checkpoint prints r
			p.unsettled = p.unsettled[:max(0, len(p.unsettled)-1)]
			p.write(p.enc.Flush(p.buf))
			p.fail(exit.Failed(err))
			return
		}
		if p.output.format.List { // whoever lists has asked for all of it
			p.fail(exit.Failed(err))
			return
		}
		p.errs(err)
		return
	}
	p.buf = b
	if !r.IsObject() {
		return
	}
	if p.events++; p.events == p.output.maxEvents {
		p.over = true
		p.stop(exit.ErrAskedFor)
	}
}

// visible reports whether r is printed under --on-visible-change.
func (p *printer) visible(r *record.Record) bool {
	if !p.output.visible || r.Type != string(watch.Modified) {
		return true
	}
	changed, err := p.output.format.Visible(r)
	if err != nil {
		p.errs(fmt.Errorf("%s: %w", record.KubectlName(r.Resource, r.ID.Name), err))
	}
	return changed || err != nil
}

// write writes b and empties the buffer, whose memory it is.
func (p *printer) write(b []byte) {
	p.buf, p.held = b[:0], 0
	if cap(b) > 4*batchBytes {
		p.buf = nil
	}
	if p.err != nil {
		return
	}
	defer p.handOver()
	if p.keeper != nil && len(p.unsettled) > 0 {
		begin := p.keeper.begin
		if p.finished() != nil {
			begin = p.keeper.beginSuspected
		}
		if err := begin(p.unsettled, len(b)+len(p.pending) > 0); err != nil {
			p.fail(err)
			return
		}
		defer p.settle()
	}
	if len(b) == 0 {
		return
	}
	if p.keeper != nil && p.keeper.acks != nil {
		p.keeper.acks.printed.Store(p.seq) // who is quick may answer before Write returns
	}
	n, err := p.w.Write(b)
	if err == nil {
		return
	}
	unnoted := p.took(n)
	if errors.Is(err, errUnread) {
		p.buf = nil // the write may go on
		p.fail(unreadEnd(err, p.keeper != nil))
		return
	}
	p.fail(cli.Unwritten(err, p.keeper != nil, unnoted))
}

// finished returns what says up to which number all is done, where that is not for
// stdout to say; else nil.
func (p *printer) finished() func() int64 {
	switch {
	case p.output.hooks.holding():
		return p.output.hooks.pool.Done
	case p.keeper != nil && p.keeper.acks != nil:
		return p.keeper.acks.done.Load
	}
	return nil
}

// settle says that everything up to here is done.
func (p *printer) settle() {
	if p.err != nil {
		return
	}
	var err error
	if finished := p.finished(); finished != nil {
		p.keeper.late.add(p.unsettled, p.spots)
		err = p.keeper.finish(finished())
	} else {
		err = p.keeper.done()
	}
	clear(p.unsettled) // let go of the objects
	p.unsettled, p.spots = p.unsettled[:0], p.spots[:0]
	if err != nil {
		p.fail(err)
	}
}

// ends has the expressions of o end soon after ctx is done. The caller calls stop.
func (o *output) ends(ctx context.Context) (stop func()) {
	ended, stop := jq.Ended(ctx)
	o.format.Ended, o.where.Ended = ended, ended
	if o.verdict != nil {
		o.verdict.Ended = ended
	}
	return stop
}

// whyEnded is err, with which the printing ended, or where that is the end of the run, why
// the run ended.
func whyEnded(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(err, jq.ErrEnded) && cause != nil && !errors.Is(cause, exit.ErrAskedFor) {
		return cause
	}
	return err
}

// fail ends the printing and the watches.
func (p *printer) fail(err error) {
	p.over, p.err = true, err
	p.stop(err)
}

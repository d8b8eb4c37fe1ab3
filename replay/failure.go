package replay

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// Failure is a recorded error.
type Failure struct {
	Text       string        `json:"text"`
	Status     *kube.Status  `json:"status,omitempty"`
	RetryAfter time.Duration `json:"retryAfter,omitempty"` // of Status
	Is         []string      `json:"is,omitempty"`         // errors that it matches by errors.Is, by the names that FORMAT.md lists

	Interruption *Interruption `json:"interruption,omitempty"`
	Item         *Item         `json:"item,omitempty"`
}

// Interruption is a watch.Interruption with a recorded error.
type Interruption struct {
	Op       watch.Op      `json:"op"`
	What     string        `json:"what,omitempty"`
	From     kube.Revision `json:"from,omitempty"`
	Revision kube.Revision `json:"rv,omitempty"`
	Lived    time.Duration `json:"lived,omitempty"`
	Events   int           `json:"events,omitempty"`
	Attempt  int           `json:"attempt,omitempty"`
	Next     watch.Op      `json:"next,omitempty"`
	Wait     time.Duration `json:"wait,omitempty"`
	Err      *Failure      `json:"failure,omitempty"` // nil = the server ended the response normally
}

// Item is a codec.ItemError with a recorded error.
type Item struct {
	APIVersion string   `json:"apiVersion,omitempty"`
	Kind       string   `json:"kind,omitempty"`
	Namespace  string   `json:"namespace,omitempty"`
	Name       string   `json:"name,omitempty"`
	UID        string   `json:"uid,omitempty"`
	Revision   string   `json:"rv,omitempty"`
	Size       int      `json:"size"`
	Err        *Failure `json:"failure,omitempty"`
}

// size returns about how much memory f takes besides its text: `{},` and `"",` take
// much more memory than text.
func (f *Failure) size() int64 {
	if f == nil {
		return 0
	}
	n := failureSize + sentinelSize*int64(len(f.Is))
	if f.Status != nil && f.Status.Details != nil {
		n += causeSize * int64(len(f.Status.Details.Causes))
	}
	if f.Interruption != nil {
		n += f.Interruption.Err.size()
	}
	if f.Item != nil {
		n += f.Item.Err.size()
	}
	return n
}

// sentinel returns the error for a name in Failure.Is; nil for an unknown name.
func sentinel(name string) error {
	for _, s := range sentinels() {
		if s.name == name {
			return s.err
		}
	}
	return nil
}

type named struct {
	name string
	err  error
}

func sentinels() []named {
	return []named{
		{"idle", client.ErrIdle},
		{"cut", io.ErrUnexpectedEOF},
		{"eof", io.EOF},
		{"too-large", codec.ErrTooLarge},
		{"reset", syscall.ECONNRESET},
		{"refused", syscall.ECONNREFUSED},
		{"canceled", context.Canceled},
		{"deadline", context.DeadlineExceeded},
	}
}

// maxText limits the text of an error in a recording, in bytes.
const maxText = 4 << 10

// failureOf returns the recorded form of err, nil for nil.
func failureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	f := &Failure{Text: strings.ToValidUTF8(err.Error(), "\uFFFD")}
	if len(f.Text) > maxText {
		f.Text = strings.ToValidUTF8(f.Text[:maxText], "") + "..."
	}
	var i *watch.Interruption
	if errors.As(err, &i) {
		f.Interruption = &Interruption{
			i.Op, i.What, i.From, i.Revision, i.Lived, i.Events, i.Attempt, i.Next, i.Wait, failureOf(i.Err),
		}
		return f
	}
	var item *codec.ItemError
	if errors.As(err, &item) {
		id := item.Identity
		f.Item = &Item{id.APIVersion, id.Kind, id.Namespace, id.Name, id.UID, id.ResourceVersion, item.Size, failureOf(item.Err)}
		return f
	}
	var status *kube.Status
	if errors.As(err, &status) {
		f.Status, f.RetryAfter = status, status.RetryAfter
	}
	for _, s := range sentinels() {
		if errors.Is(err, s.err) {
			f.Is = append(f.Is, s.name)
		}
	}
	return f
}

// err returns the original error: an interruption or item, else a *[RecordedError].
func (f *Failure) err() error {
	switch {
	case f == nil:
		return nil
	case f.Interruption != nil:
		i := f.Interruption
		return &watch.Interruption{
			Op: i.Op, What: i.What, From: i.From, Revision: i.Revision, Err: i.Err.err(), Lived: i.Lived,
			Events: i.Events, Attempt: i.Attempt, Next: i.Next, Wait: i.Wait,
		}
	case f.Item != nil:
		i := f.Item
		id := codec.Identity{APIVersion: i.APIVersion, Kind: i.Kind, Namespace: i.Namespace, Name: i.Name, UID: i.UID, ResourceVersion: i.Revision}
		return &codec.ItemError{Identity: id, Size: i.Size, Err: i.Err.err()}
	}
	e := &RecordedError{Text: f.Text}
	if f.Status != nil {
		st := *f.Status
		st.RetryAfter = f.RetryAfter
		e.causes = append(e.causes, &st)
	}
	for _, name := range f.Is {
		if err := sentinel(name); err != nil {
			e.causes = append(e.causes, err)
		}
	}
	return e
}

// RecordedError is an error that was recorded. Its text is that of the original. errors.As
// finds the server's *kube.Status in it, if there was one. errors.Is finds
// [client.ErrIdle], io.EOF, io.ErrUnexpectedEOF, codec.ErrTooLarge, syscall.ECONNRESET,
// syscall.ECONNREFUSED, context.Canceled and context.DeadlineExceeded, if the original
// matched them.
type RecordedError struct {
	Text   string
	causes []error
}

func (e *RecordedError) Error() string { return e.Text }

// Unwrap returns the errors that the original matched.
func (e *RecordedError) Unwrap() []error { return e.causes }

// causeOf returns how a body ended that was read, with ctx, until err.
func causeOf(ctx context.Context, err error) Cause {
	why := context.Cause(ctx)
	var timeout net.Error
	switch {
	case err == io.EOF:
		return EndEOF
	case errors.Is(why, client.ErrIdle), errors.Is(why, context.DeadlineExceeded):
		return EndTimeout
	case why != nil:
		return EndClient
	case errors.Is(err, syscall.ECONNRESET):
		return EndReset
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return EndCut
	case errors.As(err, &timeout) && timeout.Timeout():
		return EndTimeout
	}
	return EndError
}

package target

import (
	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/kube"
)

// Selection are the flags that say which objects, and how they are fetched.
type Selection struct {
	All       bool
	labels    string
	fields    string
	chunk     int
	Selector  kube.Selector
	FieldsSel kube.FieldSelector
}

func (s *Selection) Register(f *pflag.FlagSet) {
	f.BoolVarP(&s.All, "all-namespaces", "A", false, "read all namespaces")
	f.StringVarP(&s.labels, "selector", "l", "", "select by labels, such as app=web,tier!=db")
	f.StringVar(&s.fields, "field-selector", "", "select by fields, such as status.phase=Running")
	f.IntVar(&s.chunk, "chunk-size", 500, "request lists in pages of this many objects (0 = in one page)")
}

func (s *Selection) Parse() (err error) {
	if s.Selector, err = kube.ParseSelector(s.labels); err != nil {
		return exit.Usage("--selector: %w", err)
	}
	if s.FieldsSel, err = kube.ParseFieldSelector(s.fields); err != nil {
		return exit.Usage("--field-selector: %w", err)
	}
	if s.chunk < 0 {
		return exit.Usage("--chunk-size %d is negative", s.chunk)
	}
	return nil
}

// Limit is the page size as package list takes it.
func (s *Selection) Limit() int {
	if s.chunk == 0 {
		return -1
	}
	return s.chunk
}

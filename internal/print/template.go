package print

import (
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/jq"
)

// compileTemplate reads a template of Go's, with the two functions that kubectl
// adds. It prints no line break of its own. See package text/template.
func compileTemplate(text string) (func(*Format) Encoder, error) {
	t, err := template.New("output").Option("missingkey=default").
		Funcs(template.FuncMap{"exists": exists, "base64decode": base64decode}).Parse(text)
	if err != nil {
		return nil, templateError(err)
	}
	for _, part := range t.Templates() {
		interruptible(part.Root)
	}
	return expression(func(b []byte, v any, most int, ended <-chan struct{}) ([]byte, error) {
		return execute(b, t, v, most, patience(most), ended)
	}).encoder(nil)
}

// execute appends what t makes of v, at most so many bytes. Text that does not come
// within patience is an error. t is interruptible.
func execute(b []byte, t *template.Template, v any, most int, patience time.Duration, ended <-chan struct{}) ([]byte, error) {
	out := &limited{text: b, end: len(b) + most, patience: patience, late: time.Now().Add(patience), ended: ended}
	switch err := t.Execute(out, v); {
	case errors.Is(err, errLimit):
		return b, &codec.LimitError{What: "text of the template", Limit: most}
	case errors.Is(err, jq.ErrEnded):
		return b, jq.ErrEnded
	case errors.Is(err, errLate):
		return b, fmt.Errorf("template: no text within %v", patience)
	case err != nil:
		return b, templateError(err)
	}
	return out.text, nil
}

// interruptible has a template write a text of no bytes in each turn of a loop, and where
// a template begins that may use itself: an execution ends only at an error of a write.
func interruptible(node parse.Node) {
	var branch *parse.BranchNode
	switch node := node.(type) {
	case *parse.ListNode:
		for _, n := range node.Nodes {
			interruptible(n)
		}
		node.Nodes = append([]parse.Node{&parse.TextNode{NodeType: parse.NodeText}}, node.Nodes...)
		return
	case *parse.RangeNode:
		branch = &node.BranchNode
	case *parse.IfNode:
		branch = &node.BranchNode
	case *parse.WithNode:
		branch = &node.BranchNode
	default:
		return
	}
	interruptible(branch.List)
	if branch.ElseList != nil {
		interruptible(branch.ElseList)
	}
}

// limited takes text up to a length, of which some comes within patience.
type limited struct {
	text     []byte
	end      int
	patience time.Duration
	late     time.Time
	ended    <-chan struct{}
}

var (
	errLimit = errors.New("there is more text than the limit")
	errLate  = errors.New("there is no text for too long")
)

func (l *limited) Write(b []byte) (int, error) {
	select {
	case <-l.ended:
		return 0, jq.ErrEnded
	default:
	}
	switch now := time.Now(); {
	case len(b) > l.end-len(l.text):
		return 0, errLimit
	case now.After(l.late):
		return 0, errLate
	case len(b) > 0:
		l.late = now.Add(l.patience)
	}
	l.text = append(l.text, b...)
	return len(b), nil
}

// templateError is err with the place in the template, and without the name that
// only we know.
func templateError(err error) error {
	text := strings.TrimPrefix(err.Error(), "template: output:")
	text = strings.Replace(text, `executing "output" at `, "", 1)
	return errors.New("template, line " + text)
}

// exists reports whether index of the same arguments finds something.
func exists(item any, indices ...any) bool {
	for _, index := range indices {
		switch v := item.(type) {
		case map[string]any:
			name, ok := index.(string)
			if !ok {
				return false
			}
			item = v[name]
		case []any:
			at := reflect.ValueOf(index)
			if !at.CanInt() || at.Int() < 0 || at.Int() >= int64(len(v)) {
				return false
			}
			item = v[at.Int()]
		default:
			return false
		}
	}
	return item != nil
}

func base64decode(s string) (string, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return "", errors.New("base64decode: not valid base64")
	}
	return string(b), nil
}

package messages

import (
	"errors"

	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// Reason returns what the server responded in err, without the request.
func Reason(err error) string {
	var st *kube.Status
	if errors.As(err, &st) {
		err = st
	}
	return printable.Line(err.Error())
}

// Verb returns the verb of a request of op, as in "cannot list pods".
func Verb(op watch.Op) string {
	if op == watch.OpStream || op == watch.OpWatch {
		return "watch"
	}
	return "list"
}

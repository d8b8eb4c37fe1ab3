package controller

import (
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// LowPriority is that of what is not news: objects that were there when the
// controller began, and resyncs. Fresh events have priority 0.
const LowPriority = -100

// Cause is why a key is in the queue.
type Cause struct {
	// Input is where it came from: the name of an informer, such as "pods in
	// default", or "error", "requeue" and "after" for what the last run led to.
	Input string

	// Type, Object and Revision are those of the change; empty if it was none.
	Type     watch.Type
	Object   kube.Key
	Revision kube.Revision
}

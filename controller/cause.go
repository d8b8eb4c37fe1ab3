package controller

import (
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// LowPriority is the priority of keys that are added for initial objects and resyncs.
// Keys of changed objects have priority 0.
const LowPriority = -100

// Cause is why a key was added to the queue.
type Cause struct {
	// Input is the origin: the name of an informer, such as "pods in default", or
	// "error", "requeue" and "after" for the result of the last run.
	Input string

	// Type, Object and Revision of the change; empty if there was none.
	Type     watch.Type
	Object   kube.Key
	Revision kube.Revision
}

package main

import (
	"context"
	"errors"

	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// instead reports whether another watcher is to begin after i, which was prepared: where
// only a list is wanted and only the watch is refused; and where the type is no longer
// served in its version, but in another one, and none was asked for.
func (s *stream[T]) instead(ctx context.Context, i *watch.Interruption) bool {
	switch {
	case s.once && i.Op == watch.OpStream && s.opts.Initial == watch.Auto && !s.opened && errors.Is(i.Err, kube.ErrForbidden):
		s.opts.Initial = watch.Paged
		return true
	case s.resolve == nil || !errors.Is(i.Err, kube.ErrNotFound) || s.fatal(i) != nil:
		return false
	}
	now, err := s.resolve(ctx)
	if err != nil || now == s.served {
		return false // it may come back: the watcher asks again
	}
	if wait.For(ctx, i.Wait) != nil {
		return false
	}
	s.serve(now)
	return true
}

// serve prepares a watcher of the type in the version that it is served in now.
func (s *stream[T]) serve(now kube.Resource) {
	cause := "it is served as " + now.APIVersion() + " now"
	s.warn(cause+", and no longer as "+s.served.APIVersion()+": listing it again", "served", "was", s.served.APIVersion(), "is", now.APIVersion())
	s.served, s.columns, s.opts.Revision, s.opts.Seen = now, nil, "", ""
	if s.relist == nil && (s.synced || s.partial) {
		s.relist = &relist{cause: cause}
	}
}

package controller_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/controller"
)

// TestStopIsNoFailure: a run that ends because the controller stops has not failed,
// whichever error of its ctx it returns: the key is not given up.
func TestStopIsNoFailure(t *testing.T) {
	errLost := errors.New("the lease is lost")
	for name, result := range map[string]func(context.Context) error{"Err": context.Context.Err, "Cause": context.Cause} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var gaveUp []string
				c := controller.New("stops", func(ctx context.Context, _ string) (controller.Result, error) {
					<-ctx.Done()
					return controller.Result{}, result(ctx)
				}, controller.Options[string]{MaxRetries: -1, GaveUp: func(key string, err error) { gaveUp = append(gaveUp, key) }})
				c.Queue().Add("a")
				ctx, stop := context.WithCancelCause(t.Context())
				done := make(chan error)
				go func() { done <- c.Run(ctx) }()
				synctest.Wait()
				stop(errLost)
				if err := <-done; err != nil {
					t.Errorf("Run: %v", err)
				}
				stats := c.Stats()
				if diff := cmp.Diff([]string(nil), gaveUp); diff != "" || stats.Runs != 1 || stats.Failures != 0 {
					t.Errorf("%d runs, %d failures, given up (-want +got):\n%s", stats.Runs, stats.Failures, diff)
				}
			})
		})
	}
}

// TestFailureAtTheStopIsReported: an error that is joined to that of the ctx is a failure.
func TestFailureAtTheStopIsReported(t *testing.T) {
	errDisk := errors.New("the disk is full")
	for name, result := range map[string]func(context.Context) error{
		"joined":      func(ctx context.Context) error { return errors.Join(ctx.Err(), errDisk) },
		"in one text": func(ctx context.Context) error { return fmt.Errorf("%w; flush: %w", context.Cause(ctx), errDisk) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				c := controller.New("stops", func(ctx context.Context, _ string) (controller.Result, error) {
					<-ctx.Done()
					return controller.Result{}, result(ctx)
				}, controller.Options[string]{Logger: slog.New(slog.NewTextHandler(&log, nil))})
				c.Queue().Add("a")
				ctx, stop := context.WithTimeout(t.Context(), time.Second)
				defer stop()
				if err := c.Run(ctx); err != nil {
					t.Errorf("Run: %v", err)
				}
				if got := c.Stats().Failures; got != 1 || !strings.Contains(log.String(), errDisk.Error()) {
					t.Errorf("%d failures, log:\n%s", got, log.String())
				}
			})
		})
	}
}

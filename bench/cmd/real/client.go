package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/bench/client/follow"
	"github.com/listwatch/listwatch/bench/probe"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

var clients = []string{
	"ours-struct8", "ours-struct8-json", "ours-partial", "ours-partial-json", "ours-raw", "ours-typed", "ours-typed-json",
	"clientgo-typed-protobuf", "clientgo-typed-json", "clientgo-metadata",
}

// counted counts what its connections receive.
type counted struct {
	net.Conn
	received *atomic.Int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
	return n, err
}

// sync follows the Pods until they are there.
func sync(ctx context.Context, name string, cfg client.Config) (result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 5*time.Minute, errors.New("it does not sync"))
	defer cancel()
	var received atomic.Int64
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return counted{c, &received}, nil
	}
	begin, used := time.Now(), probe.ProcessorTime(syscall.RUSAGE_SELF)
	n, err := syncAs(ctx, name, cfg)
	return result{
		CPU: float64(probe.ProcessorTime(syscall.RUSAGE_SELF)-used) / 1e9, Wall: time.Since(begin).Seconds(), Bytes: received.Load(), Objects: n,
	}, err
}

func syncAs(ctx context.Context, name string, cfg client.Config) (int, error) {
	short, asJSON := strings.CutSuffix(name, "-json")
	if asJSON {
		cfg.Encoding = client.EncodingJSON
	}
	switch short {
	case "ours-struct8":
		return ours[follow.Eight](ctx, cfg)
	case "ours-partial":
		return ours[kube.Partial](ctx, cfg)
	case "ours-raw":
		return ours[codec.Raw](ctx, cfg)
	case "ours-typed":
		return ours[*corev1.Pod](ctx, cfg)
	}
	peer := &rest.Config{Host: cfg.Server, BearerToken: cfg.Token, QPS: -1, Dial: cfg.Dial, TLSClientConfig: rest.TLSClientConfig{CAFile: cfg.TLS.CAFile, CAData: cfg.TLS.CAData}}
	switch name {
	case "clientgo-typed-json":
		peer.ContentType = "application/json"
	case "clientgo-typed-protobuf":
		peer.ContentType, peer.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	case "clientgo-metadata":
		c, err := metadata.NewForConfig(peer)
		if err != nil {
			return 0, err
		}
		f := metadatainformer.NewSharedInformerFactory(c, 0)
		return informer(ctx, f.ForResource(corev1.SchemeGroupVersion.WithResource("pods")).Informer(), func() { f.Start(ctx.Done()) })
	default:
		return 0, fmt.Errorf("there is no client %q", name)
	}
	c, err := kubernetes.NewForConfig(peer)
	if err != nil {
		return 0, err
	}
	f := informers.NewSharedInformerFactory(c, 0)
	return informer(ctx, f.Core().V1().Pods().Informer(), func() { f.StartWithContext(ctx) })
}

// ours follows by our informer, and returns how many objects its handler had.
func ours[T kube.Object](ctx context.Context, cfg client.Config) (n int, err error) {
	c, err := client.New(cfg)
	if err != nil {
		return 0, err
	}
	inf := cache.New(client.Of[T](c, kube.Pods), cache.Options[T]{})
	inf.Handle(func(cache.Delta[T]) { n++ })
	failed := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	go func() { failed <- inf.Run(ctx) }()
	err = inf.WaitSynced(ctx)
	cancel()
	<-failed // n is ours again
	return n, err
}

// informer follows by an informer of client-go.
func informer(ctx context.Context, inf clientgo.SharedIndexInformer, start func()) (int, error) {
	var n atomic.Int64
	seen, err := inf.AddEventHandler(clientgo.ResourceEventHandlerFuncs{AddFunc: func(o any) {
		if _, ok := o.(metav1.Object); ok {
			n.Add(1)
		}
	}})
	if err != nil {
		return 0, err
	}
	start()
	select {
	case <-seen.HasSyncedChecker().Done():
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	return int(n.Load()), nil
}

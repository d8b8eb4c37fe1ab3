package main

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

func nothing(context.Context) iter.Seq2[sink.Held, error] {
	return func(func(sink.Held, error) bool) {}
}

// informer is what a program with client-go does: a handler that makes records, and a
// goroutine that commits them in batches of 500, or after 500 ms.
func (j job) informer(ctx context.Context, m *meter) error {
	set, err := kubernetes.NewForConfig(&rest.Config{Host: j.Server, QPS: 1000, Burst: 1000})
	if err != nil {
		return err
	}
	pos, _, err := m.Open(ctx, j.scope())
	if err != nil {
		return err
	}
	records := make(chan sink.Record)
	send := func(typ sink.Type, o any) {
		r, err := recordOf(typ, o.(*corev1.ConfigMap))
		if err == nil {
			select {
			case records <- r:
			case <-ctx.Done():
			}
		}
	}
	factory := informers.NewSharedInformerFactory(set, 0)
	handler, err := factory.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { send(sink.Added, o) },
		UpdateFunc: func(_, o any) { send(sink.Modified, o) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	return commit(ctx, m, pos, records, handler.HasSynced)
}

func recordOf(typ sink.Type, o *corev1.ConfigMap) (sink.Record, error) {
	o = o.DeepCopy() // what the cache has must not be changed
	o.APIVersion, o.Kind = "v1", "ConfigMap"
	b, err := json.Marshal(o)
	rev := kube.Revision(o.ResourceVersion)
	return sink.Record{
		ID: sink.RecordID("c", 1, string(o.UID), rev), Type: typ, Cluster: "c", Resource: "configmaps", APIVersion: "v1", Kind: "ConfigMap", Namespace: o.Namespace, Name: o.Name,
		UID: string(o.UID), Revision: rev, Epoch: 1, Time: time.Now().UTC(), Phase: sink.Live, Labels: o.Labels, Object: b,
	}, err
}

func commit(ctx context.Context, m *meter, pos sink.Position, records <-chan sink.Record, synced func() bool) error {
	var pending []sink.Record
	flush := func() error {
		if len(pending) == 0 && pos.Phase == sink.Live {
			return nil
		}
		if pos.Sequence++; synced() {
			pos.Phase = sink.Live
		}
		pos.Time = time.Now().UTC()
		err := m.Commit(ctx, pending, pos)
		pending = pending[:0]
		return err
	}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case r := <-records:
			if pending = append(pending, r); r.Revision.Newer(pos.Revision) {
				pos.Revision = r.Revision
			}
			if len(pending) < 500 {
				continue
			}
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := flush(); err != nil {
			return err
		}
	}
}

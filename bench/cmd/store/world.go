package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

const (
	namespaces = 50
	nodes      = 1000
)

// world is the stores with the same objects in them, and what to change.
type world struct {
	ours    *cache.RWStore[*corev1.Pod]
	byNode  *cache.Index[*corev1.Pod, string]
	bare    clientgo.ThreadSafeStore // is handed keys
	indexer clientgo.Indexer         // makes keys of objects: a bare one within

	// What updates are made with. The stores were filled with other copies of the
	// same strings: an event never has those of the store.
	keys  []kube.Key
	text  []string // the same as client-go has it
	uids  []string
	here  []*corev1.Pod // what the stores hold at first
	again []*corev1.Pod // with the same values of indexes
	moved []*corev1.Pod // with another node

	revision int64 // the last
}

func newWorld(n int) (*world, error) {
	w := &world{ours: cache.NewStore[*corev1.Pod](), revision: 1_000_000_000}
	cache.ByNamespace(w.ours.Store)
	w.byNode = cache.By(w.ours.Store, func(p *corev1.Pod) (string, bool) { return p.Spec.NodeName, true })
	indexers := clientgo.Indexers{
		clientgo.NamespaceIndex: clientgo.MetaNamespaceIndexFunc,
		"node":                  func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil },
	}
	w.bare = clientgo.NewThreadSafeStore(indexers, clientgo.Indices{})
	w.indexer = clientgo.NewIndexer(clientgo.MetaNamespaceKeyFunc, indexers)
	w.ours.Apply(watch.Event[*corev1.Pod]{Type: watch.Restart})
	for i := range n {
		p := pod(i, i)
		w.here, w.again, w.moved = append(w.here, p), append(w.again, pod(i, i)), append(w.moved, pod(i, i+1))
		key := kube.KeyOf(p)
		w.ours.Apply(event(watch.Added, key, string(p.UID), p.ResourceVersion, p))
		w.bare.Add(key.String(), p)
		if err := w.indexer.Add(p); err != nil {
			return nil, err
		}
		w.keys = append(w.keys, kube.Key{Namespace: strings.Clone(key.Namespace), Name: strings.Clone(key.Name)})
		w.text = append(w.text, key.String())
		w.uids = append(w.uids, strings.Clone(string(p.UID)))
	}
	w.ours.Apply(watch.Event[*corev1.Pod]{Type: watch.Synced, Revision: "1000000000"})
	return w, nil
}

func event(typ watch.Type, key kube.Key, uid, revision string, p *corev1.Pod) watch.Event[*corev1.Pod] {
	return watch.Event[*corev1.Pod]{Type: typ, Key: key, UID: uid, Revision: kube.Revision(revision), Object: p}
}

// pod is object number i, on a node.
func pod(i, node int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("team-%02d", i%namespaces), Name: fmt.Sprintf("checkout-7d9c6f5b81-%06d", i),
			UID: types.UID(fmt.Sprintf("5d7dbd2e-58a8-4d4b-8d53-%012d", i)), ResourceVersion: "1000000000",
			Labels: map[string]string{"app": "checkout", "team": "payments"},
		},
		Spec: corev1.PodSpec{NodeName: fmt.Sprintf("worker-%04d", node%nodes)},
	}
}

// revisions returns the next n.
func (w *world) revisions(n int) []string {
	out := make([]string, n)
	for i := range out {
		w.revision++
		out[i] = strconv.FormatInt(w.revision, 10)
	}
	return out
}

// next is the object that the k-th change is about: neighbours in time are far
// apart in the store.
func (w *world) next(k int) int { return k * 7919 % len(w.keys) }

// check compares what the stores hold at the end, which is what they held at
// first.
func (w *world) check() error {
	if w.ours.Len() != len(w.keys) || len(w.bare.ListKeys()) != len(w.keys) || len(w.indexer.ListKeys()) != len(w.keys) {
		return fmt.Errorf("not every store has %d objects", len(w.keys))
	}
	for i, key := range w.keys {
		ours, _ := w.ours.Get(key)
		bare, _ := w.bare.Get(w.text[i])
		indexed, _, err := w.indexer.GetByKey(w.text[i])
		if ours != w.here[i] || bare != w.here[i] || indexed != w.here[i] || err != nil {
			return fmt.Errorf("%s is not in every store: %w", key, err)
		}
	}
	for i := range nodes {
		node := fmt.Sprintf("worker-%04d", i)
		bare, err1 := w.bare.IndexKeys("node", node)
		indexed, err2 := w.indexer.IndexKeys("node", node)
		if n := w.byNode.Len(node); n != len(bare) || n != len(indexed) || err1 != nil || err2 != nil {
			return fmt.Errorf("%s is not the same in every index: %w", node, errors.Join(err1, err2))
		}
	}
	return nil
}

// Clientgo is the smallest useful informer on client-go: it runs in a pod,
// keeps all pods in memory and prints what happens to them.
package main

import (
	"context"
	"fmt"
	"log"
	"os/signal"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	cfg, err := rest.InClusterConfig()
	if err != nil {
		log.Fatal(err)
	}
	cs, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		log.Fatal(err)
	}
	f := informers.NewSharedInformerFactory(cs, 0)
	show := func(what string, o any) {
		if d, ok := o.(cache.DeletedFinalStateUnknown); ok {
			o = d.Obj
		}
		if p, ok := o.(*corev1.Pod); ok {
			fmt.Println(what, p.Namespace+"/"+p.Name, p.Spec.NodeName, p.Status.Phase)
		}
	}
	if _, err := f.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { show("ADDED", o) },
		UpdateFunc: func(_, o any) { show("MODIFIED", o) },
		DeleteFunc: func(o any) { show("DELETED", o) },
	}); err != nil {
		log.Fatal(err)
	}
	f.StartWithContext(ctx)
	<-ctx.Done()
	f.Shutdown()
}

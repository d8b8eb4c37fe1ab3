// Package operator turns a reconcile function into a program: it connects the informers, the
// controller, leader election, webhooks, Events and the flags that every operator has.
//
//	func main() { operator.Main(operator.Options{Name: "greeting", Setup: setup}) }
//
//	func setup(op *operator.Operator) error {
//		op.Define(crd.Of[Greeting](greetings, crd.Options{}))
//		a := &app{}
//		a.greetings = operator.For(op, greetings, operator.Reconciler[Greeting]{Reconcile: a.reconcile})
//		a.maps = operator.Owns[kube.Partial](a.greetings, kube.ConfigMaps)
//		return nil
//	}
//
//	func (a *app) reconcile(ctx context.Context, g Greeting) (controller.Result, error) {
//		_, err := a.maps.Apply(ctx, g, map[string]any{"data": map[string]string{"text": g.Spec.Text}})
//		if err != nil {
//			return controller.Result{}, err
//		}
//		return controller.Result{}, a.greetings.PatchStatus(ctx, g, func(g *Greeting) {
//			g.Status.Conditions = kube.SetCondition(g.Status.Conditions, kube.Condition{Type: "Ready", ...})
//		})
//	}
//
// All parts come from packages cache, controller, manager, lease, webhook and crd, and
// are accessible: an operator may add parts of its own by [Operator.Manager].
package operator

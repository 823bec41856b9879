package server

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/airlock-exec/airlock/internal/limits"
	"github.com/airlock-exec/airlock/internal/rpc"
)

// TestLooks: a client that takes no answers does not make them pile up in memory, as
// whoever has found something does not make room before its answer is on the way.
func TestLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &connection{looks: make(chan struct{}, limits.Looks)}
		ctx, cancel := context.WithCancelCause(t.Context())
		found := make(chan rpc.Reply, 2*limits.Looks)
		begun := 0
		find := func(context.Context, *int) (int, error) {
			begun++
			return begun, nil
		}
		for range 2 * limits.Looks {
			reply := look(c, find, new(int))
			if !reply.Parked {
				t.Error("the lane is held up")
			}
			go func() { found <- reply.Wait(ctx) }()
			synctest.Wait()
		}
		if begun != limits.Looks || len(found) != begun {
			t.Errorf("%d are begun, %d of them found", begun, len(found))
		}
		(<-found).Sent()
		synctest.Wait()
		if begun != limits.Looks+1 {
			t.Errorf("%d are begun when one has been answered", begun)
		}
		for range limits.Looks {
			<-found
		}
		why := errors.New("over")
		cancel(why)
		synctest.Wait()
		for range limits.Looks - 1 {
			if reply := <-found; !errors.Is(reply.Err, why) || reply.Sent != nil {
				t.Errorf("of a connection that is over: %+v", reply)
			}
		}
	})
}

package web

import (
	"net"
	"sync/atomic"
	"syscall"
)

// gate is a listener that can turn new connections away and still accept those that were made before. Closing a listener resets the
// connections that were not accepted yet, and loses the requests in them.
type gate struct {
	*net.TCPListener
	closing atomic.Bool
}

// turnAway makes the system ignore the first packet of new connections, as if it came from too far away.
func (g *gate) turnAway() error {
	g.closing.Store(true)
	return setMinHops(g.TCPListener, 255)
}

// Accept takes connections whose first packet came before. They have inherited the option from the listener.
func (g *gate) Accept() (net.Conn, error) {
	conn, err := g.AcceptTCP()
	if err != nil {
		return nil, err
	}
	if g.closing.Load() {
		_ = setMinHops(conn, 0) // otherwise the client would send its request again and again until it gives up
	}
	return conn, nil
}

const ipv6MinHopCount = 0x49 // IPV6_MINHOPCOUNT, which package syscall lacks

// setMinHops ignores packets that have fewer hops left than this. 255 is the most there can be, and few systems send that many.
func setMinHops(socket syscall.Conn, hops int) error {
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IPV6, ipv6MinHopCount, hops) // the socket may be IPv4 only
		failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, syscall.IP_MINTTL, hops)
	})
	if err != nil {
		return err
	}
	return failed
}

//go:build unix

package web

import (
	"net"
	"os"
	"syscall"
)

// acceptWaiting accepts the connections that wait at a port until none does, and leaves room for a single one to wait there.
func acceptWaiting(l net.Listener) (waiting []net.Conn) {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	_ = raw.Control(func(port uintptr) { // it fails only where the port is closed
		_ = syscall.Listen(int(port), 0)
		for {
			fd, _, err := syscall.Accept(int(port))
			switch err {
			case nil:
			case syscall.EINTR, syscall.ECONNABORTED:
				continue
			default: // EAGAIN: the queue is empty
				return
			}
			syscall.CloseOnExec(fd)
			file := os.NewFile(uintptr(fd), "")
			if conn, err := net.FileConn(file); err == nil { // with a descriptor of its own
				waiting = append(waiting, conn)
			}
			_ = file.Close()
		}
	})
	return waiting
}

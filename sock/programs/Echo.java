import java.io.*;
import java.net.*;
import java.rmi.*;
import java.rmi.registry.*;
import java.rmi.server.UnicastRemoteObject;

/** A socket echo, and a remote method: java Echo serve PORT, java Echo use PORT. The registry is at the port behind. */
public class Echo {
    public interface Reverser extends Remote {
        String reverse(String text) throws RemoteException;
    }

    static class Work implements Reverser {
        public String reverse(String text) {
            return new StringBuilder(text).reverse().toString();
        }
    }

    static void serve(int port) throws Exception {
        Work work = new Work();
        LocateRegistry.createRegistry(port + 1).rebind("reverser", UnicastRemoteObject.exportObject(work, 0));
        ServerSocket listener = new ServerSocket(port);
        System.out.println("ready");
        while (true) {
            Socket socket = listener.accept();
            new Thread(() -> {
                try (InputStream in = socket.getInputStream(); OutputStream out = socket.getOutputStream()) {
                    in.transferTo(out);
                } catch (IOException error) {
                    System.err.println(error);
                }
            }).start();
        }
    }

    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(args[1]);
        if (args[0].equals("serve")) {
            serve(port);
        }
        byte[] sent = new byte[1 << 20];
        new java.util.Random(7).nextBytes(sent);
        try (Socket socket = new Socket("127.0.0.1", port)) {
            Thread sender = new Thread(() -> {
                try {
                    socket.getOutputStream().write(sent);
                    socket.shutdownOutput();
                } catch (IOException error) {
                    System.err.println(error);
                }
            });
            sender.start();
            byte[] back = socket.getInputStream().readAllBytes();
            System.out.println(java.util.Arrays.equals(sent, back) ? "echo right" : "echo WRONG");
        }
        Reverser far = (Reverser) LocateRegistry.getRegistry("127.0.0.1", port + 1).lookup("reverser");
        boolean right = true;
        for (int n = 0; n < 2000; n++) {
            right &= far.reverse("call " + n).equals(new StringBuilder("call " + n).reverse().toString());
        }
        System.out.println(right ? "rmi right" : "rmi WRONG");
        System.exit(0);
    }
}

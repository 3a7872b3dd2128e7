import static plimsoll.Plimsoll.*;

import com.sun.jna.ptr.PointerByReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/** What docs/java.md promises of examples/java/plimsoll/Plimsoll.java. */
public final class Bindings {
    static final int INVALID_ARGUMENT = 2, INVALID_HANDLE = 13, BUSY = 14;
    static final long[] WIDTHS = {2, 16, 3}, SAMPLE_SIZES = {0, 40};

    static Graph graph;
    static Model model;
    static Estimator estimator;
    static Optimizer optimizer;
    static TrainOptions options;

    interface Body {
        void run() throws Exception;
    }

    /** Runs a test with handles of its own. */
    static void test(String sentence, Body body) throws Exception {
        try (Graph g = new Graph(out -> C.plim_graph_from_mixture(50, 1, out));
             Model m = new Model(out -> C.plim_model_gcn(WIDTHS, 3, 1, out));
             Estimator e = new Estimator(out -> C.plim_estimator_consistent(SAMPLE_SIZES, 2, out));
             Optimizer o = new Optimizer(out -> C.plim_optimizer_adam(0.01, out));
             TrainOptions t = new TrainOptions(out -> C.plim_train_options_new(out))) {
            graph = g;
            model = m;
            estimator = e;
            optimizer = o;
            options = t;
            check(C.plim_train_options_set_epochs(t, 20));
            body.run();
        }
        System.out.println("ok: " + sentence);
    }

    static void run(Predicate<Progress> tell) {
        train(model, graph, estimator, optimizer, options, tell).close();
    }

    static void equal(Object found, Object expected) {
        if (!expected.equals(found)) throw new AssertionError("found " + found + ", expected " + expected);
    }

    static void holds(boolean condition, Object what) {
        if (!condition) throw new AssertionError(what);
    }

    /** What a body throws. */
    static Throwable thrown(Runnable body) {
        try {
            body.run();
        } catch (Throwable error) {
            return error;
        }
        throw new AssertionError("nothing was thrown");
    }

    static void refused(Runnable body, int status, String part) {
        PlimsollException error = (PlimsollException) thrown(body);
        equal(error.status, status);
        holds(error.getMessage().contains(part), error.getMessage());
    }

    static float[] predict(Model model, int[] nodes, int count) {
        float[] rows = new float[3 * count];
        check(C.plim_model_predict(model, graph, nodes, nodes == null ? 0 : count, rows, rows.length));
        return rows;
    }

    public static void main(String[] args) throws Exception {
        test("a callback is told every epoch", () -> {
            List<Long> epochs = new ArrayList<>();
            try (History history = train(model, graph, estimator, optimizer, options, p -> {
                equal(p.struct_size, 80L);
                equal((long) p.size(), p.struct_size);
                equal(p.num_epochs, 20L);
                equal(p.step, p.num_steps);
                holds(p.train_loss > 0 && p.val_accuracy <= 1 && p.seconds > 0, p);
                return !epochs.add(p.epoch);
            })) {
                holds(C.plim_history_best_epoch(history) >= 1, "best epoch");
            }
            equal(epochs, LongStream.rangeClosed(1, 20).boxed().collect(Collectors.toList()));
        });

        test("what a callback throws ends training and comes out of it", () -> {
            for (Throwable boo : List.of(new IllegalStateException("boo"), new AssertionError("boo"))) {
                int[] calls = {0};
                Throwable error = thrown(() -> run(p -> {
                    if (++calls[0] < 3) return false;
                    if (boo instanceof Error) throw (Error) boo;
                    throw (RuntimeException) boo;
                }));
                holds(error == boo, error);
                equal(calls[0], 3);
            }
            run(p -> false);
        });

        test("a callback that answers true cancels", () -> {
            int[] calls = {0};
            refused(() -> run(p -> ++calls[0] == 3), PLIM_ERROR_CANCELLED,
                "cancelled: the progress callback stopped training in epoch 3");
            equal(calls[0], 3);
        });

        test("a callback survives the garbage collector", () -> {
            // Collecting all the while: inside a callback would not do, where its own frame keeps it.
            AtomicBoolean over = new AtomicBoolean();
            Thread collector = new Thread(() -> {
                while (!over.get()) System.gc();
            });
            collector.start();
            int[] calls = {0};
            try {
                check(C.plim_train_options_set_epochs(options, 2000));
                run(p -> ++calls[0] < 0);
            } finally {
                over.set(true);
                collector.join();
            }
            equal(calls[0], 2000);
        });

        test("a callback runs on the thread that trains", () -> {
            Thread here = Thread.currentThread();
            run(p -> Thread.currentThread() != here);
        });

        test("inside a callback the model can be used but not changed", () -> run(p -> {
            double[] accuracy = {-1};
            check(C.plim_model_evaluate(model, graph, PLIM_SPLIT_TEST, null, accuracy));
            holds(accuracy[0] >= 0, accuracy[0]);
            equal(C.plim_train(model, graph, estimator, optimizer, null, null), BUSY);
            return false;
        }));

        test("an error has the status and the text, and nothing was made", () -> {
            refused(() -> new Model(out -> C.plim_model_gcn(WIDTHS, 1, 1, out)), INVALID_ARGUMENT,
                "invalid argument: num_widths = 1");
            PointerByReference out = new PointerByReference();
            equal(C.plim_model_gcn(WIDTHS, 1, 1, out), INVALID_ARGUMENT);
            holds(out.getValue() == null, out);
        });

        test("each thread has the text of its own errors", () -> {
            refused(() -> new Model(out -> C.plim_model_gcn(WIDTHS, 1, 1, out)), INVALID_ARGUMENT, "num_widths");
            Thread other = new Thread(() -> refused(() -> check(C.plim_train_options_set_epochs(options, 0)),
                INVALID_ARGUMENT, "epochs = 0"));
            Throwable[] failed = {null};
            other.setUncaughtExceptionHandler((thread, error) -> failed[0] = error);
            other.start();
            other.join();
            holds(failed[0] == null, failed[0]);
            holds(C.plim_last_error().contains("num_widths"), C.plim_last_error());
        });

        test("a closed handle is NULL, and closing it again does nothing", () -> {
            model.close();
            model.close();
            refused(() -> check(C.plim_model_save(model, utf8("never"))), 1, "model");
            graph.close();
            equal(C.plim_graph_num_nodes(graph), 0L);
        });

        test("a handle freed behind its owner's back is refused", () -> {
            C.plim_model_free(model);
            refused(() -> check(C.plim_model_save(model, utf8("never"))), INVALID_HANDLE, "model");
        });

        test("64 bits of a seed arrive", () -> {
            List<String> rows = new ArrayList<>();
            for (long seed : new long[] {Long.MIN_VALUE, Long.MIN_VALUE + 1, Long.MIN_VALUE}) {
                try (Model own = new Model(out -> C.plim_model_gcn(WIDTHS, 3, seed, out))) {
                    rows.add(Arrays.toString(predict(own, new int[] {0}, 1)));
                }
            }
            equal(rows.get(0), rows.get(2));
            holds(!rows.get(0).equals(rows.get(1)), rows);
        });

        test("(null, 0) is all nodes, in the same bits as a list", () -> {
            float[] all = predict(model, null, 150);
            float[] last = predict(model, new int[] {149}, 1);
            equal(Arrays.toString(last), Arrays.toString(Arrays.copyOfRange(all, 447, 450)));
        });

        test("names of files are UTF-8, there and back", () -> {
            check(C.plim_model_save(model, utf8("modèle-✓.safetensors"))); // run.py looks for it
            refused(() -> new Model(out -> C.plim_model_load(utf8("nowhere-✓"), out)), 6, "nowhere-✓");
        });
    }
}

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Scanner;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Stories of Kafka's own Java client: {@code Interop BOOTSTRAP STORY ARGUMENT...}. One that fails ends in an exception. */
public final class Interop {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static String bootstrap;

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        switch (arguments[1]) {
            case "roundtrip" -> roundtrip(arguments[2], Arrays.copyOfRange(arguments, 3, arguments.length));
            case "group" -> group(arguments[2]);
            case "admin" -> admin(arguments[2]);
            case "reassign" -> reassign(arguments[2]);
            case "failover" -> failover(arguments[2]);
            default -> throw new IllegalArgumentException("no story is called " + arguments[1]);
        }
        System.out.println("done");
    }

    /** Keys, values, headers and timestamps survive each of the codecs; one topic, one codec after the other. */
    private static void roundtrip(String topic, String[] codecs) throws Exception {
        long base = 0;
        for (String codec : codecs) {
            List<ProducerRecord<byte[], byte[]>> sent = new ArrayList<>();
            List<Future<RecordMetadata>> answers = new ArrayList<>();
            try (var producer = producer(Map.of("compression.type", codec, "linger.ms", "50"))) {
                for (int number = 0; number < 300; number++) {
                    byte[] key = number % 3 == 0 ? null : bytes("key-" + number);
                    byte[] value = number % 7 == 0 ? null : bytes(("value " + number + " ").repeat(20));
                    var record = new ProducerRecord<>(topic, 0, 1_700_000_000_000L + number, key, value);
                    record.headers().add("number", bytes("" + number)).add("empty", new byte[0]).add("null", null);
                    sent.add(record);
                    answers.add(producer.send(record));
                }
                for (int number = 0; number < 300; number++) {
                    same(base + number, answers.get(number).get().offset());
                }
            }
            try (var consumer = consumer(Map.of())) {
                var partition = new TopicPartition(topic, 0);
                consumer.assign(List.of(partition));
                consumer.seek(partition, base);
                List<ConsumerRecord<byte[], byte[]>> read = read(consumer, 300);
                for (int number = 0; number < 300; number++) {
                    var in = sent.get(number);
                    var out = read.get(number);
                    same(base + number, out.offset());
                    check(Arrays.equals(in.key(), out.key()) && Arrays.equals(in.value(), out.value()), "record " + number);
                    same(in.timestamp(), out.timestamp());
                    same(describe(in.headers().toArray()), describe(out.headers().toArray()));
                }
                same(Map.of(partition, base + 300), consumer.endOffsets(List.of(partition)));
                same(0L, consumer.offsetsForTimes(Map.of(partition, 1_700_000_000_000L)).get(partition).offset());
            }
            base += 300;
        }
    }

    /** Two members share four partitions; what was committed is where the next one goes on. */
    private static void group(String topic) throws Exception {
        Map<String, String> options =
                Map.of("group.id", "group-" + topic, "session.timeout.ms", "10000", "heartbeat.interval.ms", "500");
        try (var producer = producer(Map.of());
                var first = consumer(options)) {
            for (int number = 0; number < 100; number++) {
                producer.send(new ProducerRecord<>(topic, number % 4, null, bytes("" + number)));
            }
            producer.flush();
            first.subscribe(List.of(topic));
            read(first, 100);
            first.commitSync();
            try (var second = consumer(options)) {
                second.subscribe(List.of(topic));
                until("two members with two partitions each", () -> {
                    check(first.poll(Duration.ofMillis(100)).isEmpty(), "nothing is read twice");
                    check(second.poll(Duration.ofMillis(100)).isEmpty(), "nothing is read twice");
                    return first.assignment().size() == 2 && second.assignment().size() == 2;
                });
                Set<TopicPartition> shared = new HashSet<>(first.assignment());
                shared.addAll(second.assignment());
                same(4, shared.size());
            }
            producer.send(new ProducerRecord<>(topic, 3, null, bytes("later"))).get();
            same("later", text(read(first, 1).get(0).value()));
            var partition = new TopicPartition(topic, 3);
            same(25L, first.committed(Set.of(partition)).get(partition).offset());
        }
        try (var admin = admin()) {
            check(admin.listGroups().all().get().stream().anyMatch(it -> it.groupId().equals("group-" + topic)), "group");
            admin.deleteConsumerGroups(List.of("group-" + topic)).all().get();
        }
    }

    /** Topics: created, refused twice, enlarged, configured, deleted; the cluster, its quorum and its directories. */
    private static void admin(String name) throws Exception {
        try (var admin = admin()) {
            var topic = new NewTopic(name, 2, (short) 3).configs(Map.of("retention.ms", "3600000"));
            admin.createTopics(List.of(topic)).all().get();
            try {
                admin.createTopics(List.of(topic)).all().get();
                throw new AssertionError("a topic was created twice");
            } catch (ExecutionException error) {
                check(error.getCause() instanceof TopicExistsException, "" + error.getCause());
            }
            admin.createPartitions(Map.of(name, NewPartitions.increaseTo(5))).all().get();
            until("five partitions", () -> description(admin, name).map(it -> it.partitions().size()).equals(Optional.of(5)));

            var resource = new ConfigResource(ConfigResource.Type.TOPIC, name);
            var change = new AlterConfigOp(new ConfigEntry("retention.ms", "7200000"), AlterConfigOp.OpType.SET);
            admin.incrementalAlterConfigs(Map.of(resource, List.of(change))).all().get();
            until("the new retention", () -> value(admin, resource, "retention.ms").equals("7200000"));
            same("2", value(admin, resource, "min.insync.replicas"));

            var cluster = admin.describeCluster();
            same(3, cluster.nodes().get().size());
            same("aW50ZXJvcC1jbHVzdGVyLT", cluster.clusterId().get());
            same(1000, admin.describeMetadataQuorum().quorumInfo().get().leaderId());
            same(3, admin.describeLogDirs(List.of(0, 1, 2)).allDescriptions().get().size());
            var partition = new TopicPartition(name, 0);
            same(0L, admin.listOffsets(Map.of(partition, OffsetSpec.latest())).partitionResult(partition).get().offset());

            admin.deleteTopics(List.of(name)).all().get();
            until("the topic to go", () -> description(admin, name).isEmpty());
        }
    }

    /** A partition moves to another broker with all its records. */
    private static void reassign(String name) throws Exception {
        var partition = new TopicPartition(name, 0);
        try (var admin = admin();
                var producer = producer(Map.of());
                var consumer = consumer(Map.of())) {
            for (int number = 0; number < 100; number++) {
                producer.send(new ProducerRecord<>(name, 0, null, bytes("" + number)));
            }
            producer.flush();
            List<Integer> before = ids(description(admin, name).orElseThrow().partitions().get(0).replicas());
            int outsider = new TreeSet<>(Set.of(0, 1, 2)).stream().filter(it -> !before.contains(it)).findFirst().get();
            List<Integer> target = List.of(outsider, before.get(0));
            admin.alterPartitionReassignments(Map.of(partition, Optional.of(new NewPartitionReassignment(target)))).all().get();
            until("the reassignment", () -> {
                TopicPartitionInfo now = description(admin, name).orElseThrow().partitions().get(0);
                return ids(now.replicas()).equals(target) && now.isr().size() == 2;
            });
            until("nothing to be under way", () -> get(admin.listPartitionReassignments().reassignments()).isEmpty());
            consumer.assign(List.of(partition));
            List<ConsumerRecord<byte[], byte[]>> read = read(consumer, 100);
            for (int number = 0; number < 100; number++) {
                same("" + number, text(read.get(number).value()));
            }
        }
    }

    /** Send until a line comes in; whatever happened meanwhile, every record is there once, in order. */
    private static void failover(String topic) throws Exception {
        AtomicBoolean stop = new AtomicBoolean();
        List<Future<RecordMetadata>> answers = new ArrayList<>();
        Map<String, String> options = Map.of("group.id", "group-" + topic);
        try (var producer = producer(Map.of("linger.ms", "5"));
                var consumer = consumer(options)) {
            consumer.subscribe(List.of(topic));
            List<ConsumerRecord<byte[], byte[]>> read = new ArrayList<>();
            var listener = new Thread(() -> {
                new Scanner(System.in).nextLine();
                stop.set(true);
            });
            listener.setDaemon(true);
            listener.start();
            while (!stop.get()) {
                answers.add(producer.send(new ProducerRecord<>(topic, 0, null, bytes("" + answers.size()))));
                consumer.poll(Duration.ofMillis(2)).forEach(read::add);
                if (answers.size() == 100) {
                    answers.get(99).get();
                    System.out.println("sending");
                }
            }
            for (int number = 0; number < answers.size(); number++) {
                same((long) number, answers.get(number).get().offset());
            }
            read.addAll(read(consumer, answers.size() - read.size()));
            for (int number = 0; number < answers.size(); number++) {
                same("" + number, text(read.get(number).value()));
            }
            consumer.commitSync();
            var partition = new TopicPartition(topic, 0);
            same((long) answers.size(), consumer.committed(Set.of(partition)).get(partition).offset());
        }
    }

    private static KafkaProducer<byte[], byte[]> producer(Map<String, String> options) {
        Map<String, Object> config = new java.util.HashMap<>(options);
        config.put("bootstrap.servers", bootstrap);
        return new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private static KafkaConsumer<byte[], byte[]> consumer(Map<String, String> options) {
        Map<String, Object> config = new java.util.HashMap<>(options);
        config.put("bootstrap.servers", bootstrap);
        config.put("auto.offset.reset", "earliest");
        config.put("enable.auto.commit", "false");
        return new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static Admin admin() {
        return Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    private static List<ConsumerRecord<byte[], byte[]>> read(KafkaConsumer<byte[], byte[]> consumer, int count) {
        List<ConsumerRecord<byte[], byte[]>> read = new ArrayList<>();
        until(count + " records", () -> {
            if (read.size() < count) {
                consumer.poll(Duration.ofMillis(500)).forEach(read::add);
            }
            return read.size() >= count;
        });
        same(count, read.size());
        return read;
    }

    private static Optional<TopicDescription> description(Admin admin, String name) {
        try {
            return Optional.of(admin.describeTopics(List.of(name)).allTopicNames().get().get(name));
        } catch (ExecutionException error) {
            return Optional.empty();
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    private static String value(Admin admin, ConfigResource resource, String name) {
        return get(admin.describeConfigs(List.of(resource)).all()).get(resource).get(name).value();
    }

    private static <T> T get(org.apache.kafka.common.KafkaFuture<T> future) {
        try {
            return future.get();
        } catch (InterruptedException | ExecutionException error) {
            throw new IllegalStateException(error);
        }
    }

    private static List<Integer> ids(Collection<org.apache.kafka.common.Node> nodes) {
        return nodes.stream().map(org.apache.kafka.common.Node::id).toList();
    }

    private static void until(String what, BooleanSupplier condition) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!condition.getAsBoolean()) {
            check(System.nanoTime() < deadline, "still waiting for " + what);
            try {
                Thread.sleep(50);
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
        }
    }

    private static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    private static void same(Object expected, Object found) {
        check(Objects.equals(expected, found), "expected " + expected + ", found " + found);
    }

    private static String describe(Header[] headers) {
        StringBuilder text = new StringBuilder();
        for (Header header : headers) {
            text.append(header.key()).append('=').append(Arrays.toString(header.value())).append(';');
        }
        return text.toString();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private Interop() {}
}

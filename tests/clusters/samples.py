"""Listings as Kafka's tools print them, small; every release's way of writing them."""

from __future__ import annotations

import json

OLD = (
    "Topic:orders\tPartitionCount:2\tReplicationFactor:3\tConfigs:min.insync.replicas=2\n"
    "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\n"
    "\tTopic: orders\tPartition: 1\tLeader: 3\tReplicas: 2,3,1\tIsr: 3,1\n"
)
"""0.8.2 to 2.3."""

MIDDLE = OLD.replace(
    "Topic:orders\tPartitionCount:2\tReplicationFactor:3\tConfigs:",
    "Topic: orders\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: ",
)
"""2.4 to 2.7."""

NEW = MIDDLE.replace("\tPartitionCount", "\tTopicId: kB1gQkRzSpKWz0Yq0bJQ0g\tPartitionCount")
"""2.8 to 3.7."""

NEWEST = "\n".join(
    f"{line}\tElr: \tLastKnownElr: " if "Isr:" in line else line for line in [*NEW.splitlines(), ""]
)
"""3.8 and later."""

NAMES_ELR = NEWEST.replace("Isr: 3,1\tElr: ", "Isr: 3,1\tElr: 2")
"""4.0 and later: a replica that left the ISR may be elected."""

WITHOUT_ELR = NEWEST.replace("Elr: ", "Elr: N/A")
"""Tools of 3.8 and later, of brokers that know no eligible leader replicas."""

TOPICS = {
    "2.3": OLD,
    "2.7": MIDDLE,
    "3.7": NEW,
    "3.9": WITHOUT_ELR,
    "3.8": NEWEST,
    "4.0": NAMES_ELR,
}

CONFIGS = """\
All configs for broker 1 are:
  replica.lag.time.max.ms=12000 sensitive=false synonyms={STATIC_BROKER_CONFIG:replica.lag.time.max.ms=12000, DEFAULT_CONFIG:replica.lag.time.max.ms=30000}
  num.io.threads=8 sensitive=false synonyms={DEFAULT_CONFIG:num.io.threads=8}
  ssl.keystore.password=null sensitive=true synonyms={}
  sasl.jaas.config=hunter2 sensitive=false synonyms={STATIC_BROKER_CONFIG:sasl.jaas.config=hunter2}
  inter.broker.protocol.version=3.9-IV0 sensitive=false synonyms={DEFAULT_CONFIG:inter.broker.protocol.version=3.9-IV0}
  process.roles=broker sensitive=false synonyms={STATIC_BROKER_CONFIG:process.roles=broker}
  broker.rack=a sensitive=false synonyms={STATIC_BROKER_CONFIG:broker.rack=a}
  log.dirs=/d1,/d2 sensitive=false synonyms={STATIC_BROKER_CONFIG:log.dirs=/d1,/d2, DEFAULT_CONFIG:log.dirs=null}
All configs for broker 2 are:
  replica.lag.time.max.ms=12000 sensitive=false synonyms={STATIC_BROKER_CONFIG:replica.lag.time.max.ms=12000, DEFAULT_CONFIG:replica.lag.time.max.ms=30000}
  num.io.threads=16 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:num.io.threads=16, DEFAULT_CONFIG:num.io.threads=8}
  broker.rack=b sensitive=false synonyms={STATIC_BROKER_CONFIG:broker.rack=b}
Dynamic configs for topic orders are:
  min.insync.replicas=2 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:min.insync.replicas=2, DEFAULT_CONFIG:min.insync.replicas=1}
Default configs for brokers in the cluster are:
  unclean.leader.election.enable=true sensitive=false synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:unclean.leader.election.enable=true}
"""  # noqa: E501 - the tool's own lines

_LISTED = {
    name: [{"partition": partition, "size": 1, "offsetLag": 0, "isFuture": False}]
    for name, partition in (("/d1", "orders-0"), ("/d2", "orders-1"))
}
_DIRS = [{"logDir": name, "error": None, "partitions": those} for name, those in _LISTED.items()]
LOG_DIRS = (
    "Querying brokers for log directories information\n"
    "Received log directory information from brokers 1,2\n"
    + json.dumps({"version": 1, "brokers": [{"broker": 1, "logDirs": _DIRS}]})
    + "\n"
)

PROPERTIES = """\
# what broker 3 was started with
broker.id=3
log.dirs=/d3,\\
  /d4
broker.rack=c
zookeeper.connect=zk:2181
replica.lag.time.max.ms=15000
ssl.keystore.password=hunter2
"""

SECRET = "hunter2"

STRIMZI = """\
apiVersion: v1
kind: List
items:
  - apiVersion: kafka.strimzi.io/v1
    kind: Kafka
    metadata: {name: ours}
    spec:
      kafka:
        version: 4.1.0
        metadataVersion: 4.1-IV1
        rack: {topologyKey: topology.kubernetes.io/zone}
        config:
          min.insync.replicas: 2
          unclean.leader.election.enable: true
          ssl.keystore.password: hunter2
  - apiVersion: kafka.strimzi.io/v1
    kind: KafkaNodePool
    metadata: {name: brokers}
    spec: {replicas: 3, roles: [broker]}
    status: {nodeIds: [1, 2, 3]}
---
apiVersion: kafka.strimzi.io/v1
kind: KafkaTopic
metadata: {name: orders}
spec: {partitions: 2, replicas: 3, config: {retention.ms: 7200000}}
"""

CRUISE_CONTROL = json.dumps(
    {
        "KafkaBrokerState": {
            "LeaderCountByBrokerId": {"1": 1, "2": 1, "3": 0},
            "OnlineLogDirsByBrokerId": {"1": ["/d1"], "2": ["/d1"], "3": ["/d1"]},
            "OfflineLogDirsByBrokerId": {"1": [], "2": [], "3": []},
        },
        "KafkaPartitionState": {
            "offline": [],
            "urp": [
                {
                    "topic": "orders",
                    "partition": 1,
                    "leader": 2,
                    "replicas": [2, 3, 1],
                    "in-sync": [2, 1],
                    "out-of-sync": [3],
                    "offline": [],
                    "min-isr": 2,
                }
            ],
            "other": [
                {
                    "topic": "orders",
                    "partition": 0,
                    "leader": 1,
                    "replicas": [1, 2, 3],
                    "in-sync": [1, 2, 3],
                    "out-of-sync": [],
                    "offline": [],
                    "min-isr": 2,
                }
            ],
        },
    }
)

LOAD = json.dumps(
    {
        "brokers": [
            {"Broker": 1, "Host": "h1", "Rack": "a", "DiskMB": 1.0},
            {"Broker": 2, "Host": "h2", "Rack": "h2", "DiskMB": 1.0},
        ]
    }
)

PARTITION_LOAD = json.dumps(
    {"records": [{"topic": "orders", "partition": 0, "leader": 1, "msg_in": 123.4567}]}
)

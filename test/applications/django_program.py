"""What Django does with tables on several nodes; DSN says where."""

import io
import os
from urllib.parse import urlsplit

import django
from django.conf import settings

place = urlsplit(os.environ["DSN"])
settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": place.path.strip("/"),
            "USER": place.username,
            "HOST": place.hostname,
            "PORT": place.port,
            "OPTIONS": {"options": "-c search_path=app"},
        }
    },
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=True,
)
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import IntegrityError, connection, migrations, models, transaction  # noqa: E402


class Customer(models.Model):
    name = models.TextField()
    doc = models.JSONField(null=True)

    class Meta:
        app_label = "shop"
        db_table = "customer"
        managed = False


class Order(models.Model):
    """The key has the distribution column first; nodes delete orders with their customer."""

    pk = models.CompositePrimaryKey("customer_id", "id")
    customer = models.ForeignKey(Customer, models.DO_NOTHING)
    id = models.BigIntegerField(
        db_default=models.Func(models.Value("orders_id_seq"), function="nextval")
    )

    class Meta:
        app_label = "shop"
        db_table = "orders"
        managed = False


class Item(models.Model):
    """A foreign table."""

    name = models.TextField()

    class Meta:
        app_label = "shop"
        db_table = "item"
        managed = False


class Thing(models.Model):
    """Made by a migration, then distributed; its foreign key stays with Django."""

    name = models.CharField(max_length=20, db_index=True)
    customer = models.ForeignKey(Customer, models.CASCADE, db_constraint=False)

    class Meta:
        app_label = "shop"
        db_table = "thing"


def use_objects() -> None:
    made = Customer.objects.bulk_create([Customer(name=f"d{n}") for n in range(100)])
    assert all(Customer.objects.get(id=one.id).name == one.name for one in made[:10])
    upserted = [Customer(id=made[0].id, name="up"), Customer(id=10**6, name="new")]
    Customer.objects.bulk_create(
        upserted, update_conflicts=True, unique_fields=["id"], update_fields=["name"]
    )
    assert Customer.objects.filter(name__in=["up", "new"]).count() == 2
    order = Order.objects.create(customer=made[1])
    assert Order.objects.select_related("customer").get(pk=order.pk).customer.name == "d1"
    with transaction.atomic():
        try:
            with transaction.atomic():
                Order.objects.create(customer_id=-1)
            raise AssertionError("no foreign key")
        except IntegrityError as error:
            assert error.__cause__.diag.constraint_name == "orders_customer_id_fkey"
        assert Customer.objects.select_for_update(skip_locked=True).get(id=made[1].id)
    made[1].delete()
    assert Order.objects.count() == 0
    assert sum(1 for _ in Customer.objects.iterator(chunk_size=30)) == 100


def use_foreign_table() -> None:
    Item.objects.bulk_create([Item(name=f"i{n}") for n in range(20)])
    item, is_new = Item.objects.get_or_create(name="i7")
    assert not is_new
    item.name = "changed"
    item.save()
    assert Item.objects.filter(name="changed").update(name="again") == 1


def migrate() -> None:
    with connection.schema_editor() as editor:
        editor.create_model(Thing)
    distribute = migrations.RunSQL("SELECT shuttle.distribute_table('thing', 'id')")
    with connection.schema_editor() as editor:
        distribute.database_forwards("shop", editor, None, None)
    thing = Thing.objects.create(name="one", customer_id=10**6)
    number = models.IntegerField(null=True)
    number.contribute_to_class(Thing, "number")
    with connection.schema_editor() as editor:
        editor.add_field(Thing, number)
        editor.add_index(Thing, models.Index(fields=["number"], name="thing_number"))
    assert Thing.objects.get(id=thing.id).number is None
    with connection.schema_editor() as editor:
        editor.delete_model(Thing)


def reflect() -> None:
    with connection.cursor() as cursor:
        found = {one.name: one.type for one in connection.introspection.get_table_list(cursor)}
        assert connection.introspection.get_relations(cursor, "orders") == {}
    written = io.StringIO()
    call_command("inspectdb", "orders", stdout=written)
    assert "class Orders" in written.getvalue()
    assert "models.ForeignKey" not in written.getvalue()
    assert (found["orders"], found["item"]) == ("t", "t")
    assert not any(kind == "p" for kind in found.values())


for step in (use_objects, use_foreign_table, migrate, reflect):
    step()
print("ok")
